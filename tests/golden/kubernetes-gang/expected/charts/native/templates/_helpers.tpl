{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  native.run
  native.fullname
  native.labels
  native.selector
  native.cluster
  native.ps.hosts
  native.worker.hosts
  native.evaluatorCluster
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "native.run" -}}
{{ include "native.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "native.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "native.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "native.selector" -}}
tfgen/job: {{ include "native.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "native.cluster" -}}
{"chief":["{{ include "native.run" . }}-chief-0.{{ include "native.run" . }}:2222"],"ps":[{{ include "native.ps.hosts" . }}],"worker":[{{ include "native.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "native.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "native.run" $ }}-ps-{{ $i | int64 }}.{{ include "native.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "native.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "native.run" $ }}-worker-{{ $i | int64 }}.{{ include "native.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG: with itself in it. */}}
{{- define "native.evaluatorCluster" -}}
{"chief":["{{ include "native.run" . }}-chief-0.{{ include "native.run" . }}:2222"],"ps":[{{ include "native.ps.hosts" . }}],"worker":[{{ include "native.worker.hosts" . }}],"evaluator":["{{ include "native.run" . }}-evaluator-0.{{ include "native.run" . }}:2222"]}
{{- end }}

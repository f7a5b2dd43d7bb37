{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  all.run
  all.fullname
  all.labels
  all.selector
  all.cluster
  all.ps.hosts
  all.worker.hosts
  all.evaluatorCluster
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "all.run" -}}
{{ include "all.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "all.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "all.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "all.selector" -}}
tfgen/job: {{ include "all.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "all.cluster" -}}
{"chief":["{{ include "all.run" . }}-chief-0.{{ include "all.run" . }}:3333"],"ps":[{{ include "all.ps.hosts" . }}],"worker":[{{ include "all.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "all.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "all.run" $ }}-ps-{{ $i | int64 }}.{{ include "all.run" $ }}:3333"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "all.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "all.run" $ }}-worker-{{ $i | int64 }}.{{ include "all.run" $ }}:3333"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG: with itself in it. */}}
{{- define "all.evaluatorCluster" -}}
{"chief":["{{ include "all.run" . }}-chief-0.{{ include "all.run" . }}:3333"],"ps":[{{ include "all.ps.hosts" . }}],"worker":[{{ include "all.worker.hosts" . }}],"evaluator":["{{ include "all.run" . }}-evaluator-0.{{ include "all.run" . }}:3333"]}
{{- end }}

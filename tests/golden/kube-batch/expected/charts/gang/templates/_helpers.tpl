{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  gang.run
  gang.fullname
  gang.labels
  gang.selector
  gang.cluster
  gang.ps.hosts
  gang.worker.hosts
  gang.evaluatorCluster
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "gang.run" -}}
{{ include "gang.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "gang.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "gang.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "gang.selector" -}}
tfgen/job: {{ include "gang.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "gang.cluster" -}}
{"chief":["{{ include "gang.run" . }}-chief-0.{{ include "gang.run" . }}:2222"],"ps":[{{ include "gang.ps.hosts" . }}],"worker":[{{ include "gang.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "gang.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "gang.run" $ }}-ps-{{ $i | int64 }}.{{ include "gang.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "gang.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "gang.run" $ }}-worker-{{ $i | int64 }}.{{ include "gang.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG: with itself in it. */}}
{{- define "gang.evaluatorCluster" -}}
{"chief":["{{ include "gang.run" . }}-chief-0.{{ include "gang.run" . }}:2222"],"ps":[{{ include "gang.ps.hosts" . }}],"worker":[{{ include "gang.worker.hosts" . }}],"evaluator":["{{ include "gang.run" . }}-evaluator-0.{{ include "gang.run" . }}:2222"]}
{{- end }}

{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  seed-volcano-tfjob.run
  seed-volcano-tfjob.fullname
  seed-volcano-tfjob.labels
  seed-volcano-tfjob.selector
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "seed-volcano-tfjob.run" -}}
{{ include "seed-volcano-tfjob.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "seed-volcano-tfjob.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "seed-volcano-tfjob.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "seed-volcano-tfjob.selector" -}}
tfgen/job: {{ include "seed-volcano-tfjob.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

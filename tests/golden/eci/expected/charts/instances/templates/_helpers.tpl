{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  instances.run
  instances.fullname
  instances.labels
  instances.selector
  instances.cluster
  instances.worker.hosts
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "instances.run" -}}
{{ include "instances.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "instances.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "instances.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "instances.selector" -}}
tfgen/job: {{ include "instances.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "instances.cluster" -}}
{"worker":[{{ include "instances.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "instances.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "instances.run" $ }}-worker-{{ $i | int64 }}.{{ include "instances.run" $ }}:2222"{{ end }}
{{- end }}

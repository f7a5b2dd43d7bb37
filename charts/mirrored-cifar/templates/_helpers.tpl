{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  mirrored-cifar.run
  mirrored-cifar.fullname
  mirrored-cifar.labels
  mirrored-cifar.selector
  mirrored-cifar.cluster
  mirrored-cifar.worker.hosts
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "mirrored-cifar.run" -}}
{{ include "mirrored-cifar.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "mirrored-cifar.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "mirrored-cifar.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "mirrored-cifar.selector" -}}
tfgen/job: {{ include "mirrored-cifar.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "mirrored-cifar.cluster" -}}
{"worker":[{{ include "mirrored-cifar.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "mirrored-cifar.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "mirrored-cifar.run" $ }}-worker-{{ $i | int64 }}.{{ include "mirrored-cifar.run" $ }}:2222"{{ end }}
{{- end }}

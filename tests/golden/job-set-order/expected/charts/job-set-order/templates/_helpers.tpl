{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  job-set-order.run
  job-set-order.fullname
  job-set-order.labels
  job-set-order.cluster
  job-set-order.ps.hosts
  job-set-order.worker.hosts
  job-set-order.selector
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "job-set-order.run" -}}
{{ include "job-set-order.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "job-set-order.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "job-set-order.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "job-set-order.cluster" -}}
{"chief":["{{ include "job-set-order.run" . }}-chief-0-0.{{ include "job-set-order.run" . }}:2222"],"ps":[{{ include "job-set-order.ps.hosts" . }}],"worker":[{{ include "job-set-order.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "job-set-order.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "job-set-order.run" $ }}-ps-0-{{ $i | int64 }}.{{ include "job-set-order.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "job-set-order.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "job-set-order.run" $ }}-worker-0-{{ $i | int64 }}.{{ include "job-set-order.run" $ }}:2222"{{ end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "job-set-order.selector" -}}
tfgen/job: {{ include "job-set-order.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

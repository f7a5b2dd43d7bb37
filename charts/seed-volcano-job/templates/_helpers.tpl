{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  seed-volcano-job.run
  seed-volcano-job.fullname
  seed-volcano-job.labels
  seed-volcano-job.cluster
  seed-volcano-job.ps.hosts
  seed-volcano-job.worker.hosts
  seed-volcano-job.selector
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "seed-volcano-job.run" -}}
{{ include "seed-volcano-job.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "seed-volcano-job.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "seed-volcano-job.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "seed-volcano-job.cluster" -}}
{"ps":[{{ include "seed-volcano-job.ps.hosts" . }}],"worker":[{{ include "seed-volcano-job.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "seed-volcano-job.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "seed-volcano-job.run" $ }}-ps-{{ $i | int64 }}.{{ include "seed-volcano-job.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "seed-volcano-job.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "seed-volcano-job.run" $ }}-worker-{{ $i | int64 }}.{{ include "seed-volcano-job.run" $ }}:2222"{{ end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "seed-volcano-job.selector" -}}
tfgen/job: {{ include "seed-volcano-job.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

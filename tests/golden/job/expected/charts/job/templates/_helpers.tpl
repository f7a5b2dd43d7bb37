{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  job.run
  job.fullname
  job.labels
  job.selector
  job.cluster
  job.worker.hosts
  job.evaluatorCluster
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "job.run" -}}
{{ include "job.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "job.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "job.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "job.selector" -}}
tfgen/job: {{ include "job.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "job.cluster" -}}
{"worker":[{{ include "job.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "job.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "job.run" $ }}-worker-{{ $i | int64 }}.{{ include "job.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG: with itself in it. */}}
{{- define "job.evaluatorCluster" -}}
{"worker":[{{ include "job.worker.hosts" . }}],"evaluator":["{{ include "job.run" . }}-evaluator-0.{{ include "job.run" . }}:2222"]}
{{- end }}

{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  queued.run
  queued.fullname
  queued.labels
  queued.selector
  queued.cluster
  queued.worker.hosts
  queued.evaluatorCluster
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "queued.run" -}}
{{ include "queued.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "queued.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "queued.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "queued.selector" -}}
tfgen/job: {{ include "queued.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "queued.cluster" -}}
{"worker":[{{ include "queued.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "queued.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "queued.run" $ }}-worker-{{ $i | int64 }}.{{ include "queued.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG: with itself in it. */}}
{{- define "queued.evaluatorCluster" -}}
{"worker":[{{ include "queued.worker.hosts" . }}],"evaluator":["{{ include "queued.run" . }}-evaluator-0.{{ include "queued.run" . }}:2222"]}
{{- end }}

{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  job-set.run
  job-set.fullname
  job-set.labels
  job-set.cluster
  job-set.worker.hosts
  job-set.evaluatorCluster
  job-set.selector
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "job-set.run" -}}
{{ include "job-set.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "job-set.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "job-set.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "job-set.cluster" -}}
{"worker":[{{ include "job-set.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "job-set.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "job-set.run" $ }}-worker-0-{{ $i | int64 }}.{{ include "job-set.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG: with itself in it. */}}
{{- define "job-set.evaluatorCluster" -}}
{"worker":[{{ include "job-set.worker.hosts" . }}],"evaluator":["{{ include "job-set.run" . }}-evaluator-0-0.{{ include "job-set.run" . }}:2222"]}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "job-set.selector" -}}
tfgen/job: {{ include "job-set.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

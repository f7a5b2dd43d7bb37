{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  jobset-mnist.run
  jobset-mnist.fullname
  jobset-mnist.labels
  jobset-mnist.cluster
  jobset-mnist.ps.hosts
  jobset-mnist.worker.hosts
  jobset-mnist.selector
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "jobset-mnist.run" -}}
{{ include "jobset-mnist.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "jobset-mnist.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "jobset-mnist.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "jobset-mnist.cluster" -}}
{"chief":["{{ include "jobset-mnist.run" . }}-chief-0-0.{{ include "jobset-mnist.run" . }}:2222"],"ps":[{{ include "jobset-mnist.ps.hosts" . }}],"worker":[{{ include "jobset-mnist.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "jobset-mnist.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "jobset-mnist.run" $ }}-ps-0-{{ $i | int64 }}.{{ include "jobset-mnist.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "jobset-mnist.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "jobset-mnist.run" $ }}-worker-0-{{ $i | int64 }}.{{ include "jobset-mnist.run" $ }}:2222"{{ end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "jobset-mnist.selector" -}}
tfgen/job: {{ include "jobset-mnist.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

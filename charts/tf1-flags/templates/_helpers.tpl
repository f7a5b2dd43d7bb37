{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  tf1-flags.run
  tf1-flags.fullname
  tf1-flags.labels
  tf1-flags.selector
  tf1-flags.cluster
  tf1-flags.ps.hosts
  tf1-flags.worker.hosts
  tf1-flags.ps.hostList
  tf1-flags.worker.hostList
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "tf1-flags.run" -}}
{{ include "tf1-flags.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "tf1-flags.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "tf1-flags.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "tf1-flags.selector" -}}
tfgen/job: {{ include "tf1-flags.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "tf1-flags.cluster" -}}
{"ps":[{{ include "tf1-flags.ps.hosts" . }}],"worker":[{{ include "tf1-flags.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "tf1-flags.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "tf1-flags.run" $ }}-ps-{{ $i | int64 }}.{{ include "tf1-flags.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "tf1-flags.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "tf1-flags.run" $ }}-worker-{{ $i | int64 }}.{{ include "tf1-flags.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the ps tasks, as flags have them. */}}
{{- define "tf1-flags.ps.hostList" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}{{ include "tf1-flags.run" $ }}-ps-{{ $i | int64 }}.{{ include "tf1-flags.run" $ }}:2222{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, as flags have them. */}}
{{- define "tf1-flags.worker.hostList" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}{{ include "tf1-flags.run" $ }}-worker-{{ $i | int64 }}.{{ include "tf1-flags.run" $ }}:2222{{ end }}
{{- end }}

{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  seed-tf1-translate.run
  seed-tf1-translate.fullname
  seed-tf1-translate.labels
  seed-tf1-translate.selector
  seed-tf1-translate.cluster
  seed-tf1-translate.ps.hosts
  seed-tf1-translate.worker.hosts
  seed-tf1-translate.ps.hostList
  seed-tf1-translate.worker.hostList
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "seed-tf1-translate.run" -}}
{{ include "seed-tf1-translate.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "seed-tf1-translate.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "seed-tf1-translate.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "seed-tf1-translate.selector" -}}
tfgen/job: {{ include "seed-tf1-translate.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "seed-tf1-translate.cluster" -}}
{"ps":[{{ include "seed-tf1-translate.ps.hosts" . }}],"worker":[{{ include "seed-tf1-translate.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "seed-tf1-translate.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "seed-tf1-translate.run" $ }}-ps-{{ $i | int64 }}.{{ include "seed-tf1-translate.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "seed-tf1-translate.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "seed-tf1-translate.run" $ }}-worker-{{ $i | int64 }}.{{ include "seed-tf1-translate.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the ps tasks, as flags have them. */}}
{{- define "seed-tf1-translate.ps.hostList" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}{{ include "seed-tf1-translate.run" $ }}-ps-{{ $i | int64 }}.{{ include "seed-tf1-translate.run" $ }}:2222{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, as flags have them. */}}
{{- define "seed-tf1-translate.worker.hostList" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}{{ include "seed-tf1-translate.run" $ }}-worker-{{ $i | int64 }}.{{ include "seed-tf1-translate.run" $ }}:2222{{ end }}
{{- end }}

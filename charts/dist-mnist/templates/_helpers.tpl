{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  dist-mnist.run
  dist-mnist.fullname
  dist-mnist.labels
  dist-mnist.selector
  dist-mnist.cluster
  dist-mnist.ps.hosts
  dist-mnist.worker.hosts
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "dist-mnist.run" -}}
{{ include "dist-mnist.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "dist-mnist.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "dist-mnist.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "dist-mnist.selector" -}}
tfgen/job: {{ include "dist-mnist.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "dist-mnist.cluster" -}}
{"chief":["{{ include "dist-mnist.run" . }}-chief-0.{{ include "dist-mnist.run" . }}:2222"],"ps":[{{ include "dist-mnist.ps.hosts" . }}],"worker":[{{ include "dist-mnist.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "dist-mnist.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "dist-mnist.run" $ }}-ps-{{ $i | int64 }}.{{ include "dist-mnist.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "dist-mnist.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "dist-mnist.run" $ }}-worker-{{ $i | int64 }}.{{ include "dist-mnist.run" $ }}:2222"{{ end }}
{{- end }}

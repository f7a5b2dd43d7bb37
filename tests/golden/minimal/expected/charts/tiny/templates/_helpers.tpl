{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  tiny.run
  tiny.fullname
  tiny.labels
  tiny.selector
  tiny.cluster
  tiny.ps.hosts
  tiny.worker.hosts
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "tiny.run" -}}
{{ include "tiny.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "tiny.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "tiny.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "tiny.selector" -}}
tfgen/job: {{ include "tiny.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "tiny.cluster" -}}
{"chief":["{{ include "tiny.run" . }}-chief-0.{{ include "tiny.run" . }}:2222"],"ps":[{{ include "tiny.ps.hosts" . }}],"worker":[{{ include "tiny.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "tiny.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "tiny.run" $ }}-ps-{{ $i | int64 }}.{{ include "tiny.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "tiny.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "tiny.run" $ }}-worker-{{ $i | int64 }}.{{ include "tiny.run" $ }}:2222"{{ end }}
{{- end }}

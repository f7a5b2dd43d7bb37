{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  ps-evaluator.run
  ps-evaluator.fullname
  ps-evaluator.labels
  ps-evaluator.selector
  ps-evaluator.cluster
  ps-evaluator.ps.hosts
  ps-evaluator.worker.hosts
  ps-evaluator.evaluatorCluster
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "ps-evaluator.run" -}}
{{ include "ps-evaluator.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "ps-evaluator.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "ps-evaluator.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "ps-evaluator.selector" -}}
tfgen/job: {{ include "ps-evaluator.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "ps-evaluator.cluster" -}}
{"chief":["{{ include "ps-evaluator.run" . }}-chief-0.{{ include "ps-evaluator.run" . }}:2222"],"ps":[{{ include "ps-evaluator.ps.hosts" . }}],"worker":[{{ include "ps-evaluator.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "ps-evaluator.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "ps-evaluator.run" $ }}-ps-{{ $i | int64 }}.{{ include "ps-evaluator.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "ps-evaluator.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "ps-evaluator.run" $ }}-worker-{{ $i | int64 }}.{{ include "ps-evaluator.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG: with itself in it. */}}
{{- define "ps-evaluator.evaluatorCluster" -}}
{"chief":["{{ include "ps-evaluator.run" . }}-chief-0.{{ include "ps-evaluator.run" . }}:2222"],"ps":[{{ include "ps-evaluator.ps.hosts" . }}],"worker":[{{ include "ps-evaluator.worker.hosts" . }}],"evaluator":["{{ include "ps-evaluator.run" . }}-evaluator-0.{{ include "ps-evaluator.run" . }}:2222"]}
{{- end }}

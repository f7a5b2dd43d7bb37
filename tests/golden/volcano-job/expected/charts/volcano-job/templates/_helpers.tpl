{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context; it prints text, without a line break at its end.

  volcano-job.run
  volcano-job.fullname
  volcano-job.labels
  volcano-job.cluster
  volcano-job.ps.hosts
  volcano-job.worker.hosts
  volcano-job.evaluatorCluster
  volcano-job.selector
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "volcano-job.run" -}}
{{ include "volcano-job.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: the release's, with the chart's behind it unless it is in it already. */}}
{{- define "volcano-job.fullname" -}}
{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "volcano-job.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "volcano-job.cluster" -}}
{"chief":["{{ include "volcano-job.run" . }}-chief-0.{{ include "volcano-job.run" . }}:2222"],"ps":[{{ include "volcano-job.ps.hosts" . }}],"worker":[{{ include "volcano-job.worker.hosts" . }}]}
{{- end }}

{{/* The hosts of the ps tasks, by index. */}}
{{- define "volcano-job.ps.hosts" -}}
{{- range $i := until (int .Values.roles.ps.replicas) }}{{ if $i }},{{ end }}"{{ include "volcano-job.run" $ }}-ps-{{ $i | int64 }}.{{ include "volcano-job.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the worker tasks, by index. */}}
{{- define "volcano-job.worker.hosts" -}}
{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}"{{ include "volcano-job.run" $ }}-worker-{{ $i | int64 }}.{{ include "volcano-job.run" $ }}:2222"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG: with itself in it. */}}
{{- define "volcano-job.evaluatorCluster" -}}
{"chief":["{{ include "volcano-job.run" . }}-chief-0.{{ include "volcano-job.run" . }}:2222"],"ps":[{{ include "volcano-job.ps.hosts" . }}],"worker":[{{ include "volcano-job.worker.hosts" . }}],"evaluator":["{{ include "volcano-job.run" . }}-evaluator-0.{{ include "volcano-job.run" . }}:2222"]}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "volcano-job.selector" -}}
tfgen/job: {{ include "volcano-job.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/*
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context, or with a dict of what it takes; it prints text,
without a line break at its end.

  tf1-flags.run
  tf1-flags.fullname
  tf1-flags.name
  tf1-flags.labels
  tf1-flags.owner
  tf1-flags.selector
  tf1-flags.cluster
  tf1-flags.hosts
  tf1-flags.hostList
  tf1-flags.podSecurityContext
  tf1-flags.containerSecurityContext
*/}}
{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "tf1-flags.run" -}}
{{ include "tf1-flags.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: fullnameOverride, else the release's, with the chart's behind it unless it is in it already. */}}
{{- define "tf1-flags.fullname" -}}
{{ if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}{{ else if contains (include "tf1-flags.name" .)
    .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ include "tf1-flags.name" . }}{{ end }}
{{- end }}

{{/* The chart's name: nameOverride, else its own. */}}
{{- define "tf1-flags.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "tf1-flags.labels" -}}
{{ include "tf1-flags.owner" . }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The labels that say whose an object is. */}}
{{- define "tf1-flags.owner" -}}
app.kubernetes.io/name: {{ include "tf1-flags.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "tf1-flags.selector" -}}
tfgen/job: {{ include "tf1-flags.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "tf1-flags.cluster" -}}
{"ps":[{{ include "tf1-flags.hosts" (dict "root" $ "role" "ps" "replicas" .Values.roles.ps.replicas) }}],"worker":[{{
    include "tf1-flags.hosts" (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of a role's tasks, by index. Takes root, role, replicas. */}}
{{- define "tf1-flags.hosts" -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ include "tf1-flags.run" $.root }}-{{ $.role }}-{{ $i |
    int64 }}.{{ include "tf1-flags.run" $.root }}:2222"{{ end }}
{{- end }}

{{/* The hosts of a role's tasks, as flags have them. Takes root, role, replicas. */}}
{{- define "tf1-flags.hostList" -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}{{ include "tf1-flags.run" $.root }}-{{ $.role }}-{{ $i |
    int64 }}.{{ include "tf1-flags.run" $.root }}:2222{{ end }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "tf1-flags.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "tf1-flags.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

{{- /* Names, labels and the cluster. A part takes the root context, or a dict of what its comment says. */}}

{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "seed-volcano-job.run" -}}
{{ include "seed-volcano-job.fullname" . }}{{ if .Values.run }}-{{ .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: fullnameOverride, else the release's, with the chart's behind it unless it is in it already. */}}
{{- define "seed-volcano-job.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "seed-volcano-job.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "seed-volcano-job.name" . }}
{{- end }}
{{- end }}

{{/* The chart's name: nameOverride, else its own. */}}
{{- define "seed-volcano-job.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "seed-volcano-job.labels" -}}
{{ include "seed-volcano-job.owner" . }}
{{- with .Values.labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The labels that say whose an object is. */}}
{{- define "seed-volcano-job.owner" -}}
app.kubernetes.io/name: {{ include "seed-volcano-job.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "seed-volcano-job.cluster" -}}
{"ps":[{{ include "seed-volcano-job.hosts" (dict "root" $ "role" "ps" "replicas"
    .Values.roles.ps.replicas) }}],"worker":[{{ include "seed-volcano-job.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of a role's tasks, by index. Takes root, role, replicas. */}}
{{- define "seed-volcano-job.hosts" -}}
{{- $run := include "seed-volcano-job.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222"{{ end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "seed-volcano-job.selector" -}}
tfgen/job: {{ include "seed-volcano-job.fullname" . | quote }}
tfgen/run: {{ .Values.run | quote }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "seed-volcano-job.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "seed-volcano-job.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

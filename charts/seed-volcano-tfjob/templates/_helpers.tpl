{{- /* Names, labels and the cluster. A part takes the root context, or a dict of what its comment says. */}}

{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "seed-volcano-tfjob.run" -}}
{{ include "seed-volcano-tfjob.fullname" . }}{{ if include "seed-volcano-tfjob.text" .Values.run }}-{{ include "seed-volcano-tfjob.text"
    .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: fullnameOverride, else the release's, with the chart's behind it unless it is in it already. */}}
{{- define "seed-volcano-tfjob.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "seed-volcano-tfjob.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "seed-volcano-tfjob.name" . }}
{{- end }}
{{- end }}

{{/* The chart's name: nameOverride, else its own. */}}
{{- define "seed-volcano-tfjob.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number in the values, such as the 2 of --set run=2, is written in all its digits. */}}
{{- define "seed-volcano-tfjob.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "seed-volcano-tfjob.labels" -}}
{{ include "seed-volcano-tfjob.owner" . }}
{{- with .Values.labels }}
{{- include "seed-volcano-tfjob.texts" . }}
{{- end }}
{{- end }}

{{/* The labels that say whose an object is. */}}
{{- define "seed-volcano-tfjob.owner" -}}
app.kubernetes.io/name: {{ include "seed-volcano-tfjob.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts, with numbers and booleans as texts. A map in it stays a map. */}}
{{- define "seed-volcano-tfjob.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "seed-volcano-tfjob.selector" -}}
tfgen/job: {{ include "seed-volcano-tfjob.fullname" . | quote }}
tfgen/run: {{ include "seed-volcano-tfjob.text" .Values.run | quote }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "seed-volcano-tfjob.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "seed-volcano-tfjob.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

{{- /* Names, labels and the cluster. A named template takes the root context or a dict with the listed keys. */}}

{{/* The name of the run: JOB-RUN, or JOB if the run has no name. */}}
{{- define "single-gpu.run" -}}
{{ include "single-gpu.fullname" . }}{{ if include "single-gpu.text" .Values.run }}-{{ include "single-gpu.text" .Values.run }}{{ end }}
{{- end }}

{{/* The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the
     name of the chart. */}}
{{- define "single-gpu.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "single-gpu.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "single-gpu.name" . }}
{{- end }}
{{- end }}

{{/* The name of the chart, or nameOverride. */}}
{{- define "single-gpu.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number, such as 2 in --set run=2, becomes a text with all digits. */}}
{{- define "single-gpu.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "single-gpu.labels" -}}
{{ include "single-gpu.owner" . }}
{{- with .Values.labels }}
{{- include "single-gpu.texts" . }}
{{- end }}
{{- end }}

{{/* The labels of the chart and the Helm release. */}}
{{- define "single-gpu.owner" -}}
app.kubernetes.io/name: {{ include "single-gpu.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts. Numbers and booleans become texts, and maps remain maps. */}}
{{- define "single-gpu.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The selector of the pods of a run. */}}
{{- define "single-gpu.selector" -}}
tfgen/job: {{ include "single-gpu.fullname" . | quote }}
tfgen/run: {{ include "single-gpu.text" .Values.run | quote }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "single-gpu.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "single-gpu.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

{{/* A map of quantities. Numbers become texts: the schemas of custom kinds refuse a fraction. */}}
{{- define "single-gpu.amounts" -}}
{{- range $name, $amount := . }}
{{ $name | quote }}: {{ toString $amount | quote }}
{{- end }}
{{- end }}

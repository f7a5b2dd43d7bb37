{{- /* Names, labels and the cluster. A named template takes the root context or a dict with the listed keys. */}}

{{/* The name of the run: JOB-RUN, or JOB if the run has no name. */}}
{{- define "eks-tfjob.run" -}}
{{ include "eks-tfjob.fullname" . }}{{ if include "eks-tfjob.text" .Values.run }}-{{ include "eks-tfjob.text" .Values.run }}{{ end }}
{{- end }}

{{/* The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the
     name of the chart. */}}
{{- define "eks-tfjob.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "eks-tfjob.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "eks-tfjob.name" . }}
{{- end }}
{{- end }}

{{/* The name of the chart, or nameOverride. */}}
{{- define "eks-tfjob.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number, such as 2 in --set run=2, becomes a text with all digits. */}}
{{- define "eks-tfjob.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "eks-tfjob.labels" -}}
{{ include "eks-tfjob.owner" . }}
{{- with .Values.labels }}
{{- include "eks-tfjob.texts" . }}
{{- end }}
{{- end }}

{{/* The labels of the chart and the Helm release. */}}
{{- define "eks-tfjob.owner" -}}
app.kubernetes.io/name: {{ include "eks-tfjob.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts. Numbers and booleans become texts, and maps remain maps. */}}
{{- define "eks-tfjob.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The selector of the pods of a run. */}}
{{- define "eks-tfjob.selector" -}}
tfgen/job: {{ include "eks-tfjob.fullname" . | quote }}
tfgen/run: {{ include "eks-tfjob.text" .Values.run | quote }}
{{- end }}

{{/* A map of quantities. Numbers become texts: the schemas of custom kinds refuse a fraction. */}}
{{- define "eks-tfjob.amounts" -}}
{{- range $name, $amount := . }}
{{ $name | quote }}: {{ toString $amount | quote }}
{{- end }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "eks-tfjob.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "eks-tfjob.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

{{- /* Names, labels and the cluster. A named template takes the root context or a dict with the listed keys. */}}

{{/* The name of the run: JOB-RUN, or JOB if the run has no name. */}}
{{- define "keras-distribution.run" -}}
{{ include "keras-distribution.fullname" . }}{{ if include "keras-distribution.text" .Values.run }}-{{ include "keras-distribution.text"
    .Values.run }}{{ end }}
{{- end }}

{{/* The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the
     name of the chart. */}}
{{- define "keras-distribution.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "keras-distribution.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "keras-distribution.name" . }}
{{- end }}
{{- end }}

{{/* The name of the chart, or nameOverride. */}}
{{- define "keras-distribution.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number, such as 2 in --set run=2, becomes a text with all digits. */}}
{{- define "keras-distribution.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "keras-distribution.labels" -}}
{{ include "keras-distribution.owner" . }}
{{- with .Values.labels }}
{{- include "keras-distribution.texts" . }}
{{- end }}
{{- end }}

{{/* The labels of the chart and the Helm release. */}}
{{- define "keras-distribution.owner" -}}
app.kubernetes.io/name: {{ include "keras-distribution.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts. Numbers and booleans become texts, and maps remain maps. */}}
{{- define "keras-distribution.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "keras-distribution.cluster" -}}
{"worker":[{{ include "keras-distribution.hosts" (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of the tasks of a role, by index. Takes root, role, replicas. */}}
{{- define "keras-distribution.hosts" -}}
{{- $run := include "keras-distribution.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ $run }}-{{ $.role }}-0-{{ $i | int64 }}.{{ $run }}:1234"{{ end }}
{{- end }}

{{/* The hosts of the tasks of a role, as the value of a flag. Takes root, role, replicas. */}}
{{- define "keras-distribution.hostList" -}}
{{- $run := include "keras-distribution.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}{{ $run }}-{{ $.role }}-0-{{ $i | int64 }}.{{ $run }}:1234{{ end }}
{{- end }}

{{/* The selector of the pods of a run. */}}
{{- define "keras-distribution.selector" -}}
tfgen/job: {{ include "keras-distribution.fullname" . | quote }}
tfgen/run: {{ include "keras-distribution.text" .Values.run | quote }}
{{- end }}

{{/* A map of quantities. Numbers become texts: the schemas of custom kinds refuse a fraction. */}}
{{- define "keras-distribution.amounts" -}}
{{- range $name, $amount := . }}
{{ $name | quote }}: {{ toString $amount | quote }}
{{- end }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "keras-distribution.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "keras-distribution.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

{{- /* Names, labels and the cluster. A named template takes the root context or a dict with the listed keys. */}}

{{/* The name of the run: JOB-RUN, or JOB if the run has no name. */}}
{{- define "elasticdl-mnist.run" -}}
{{ include "elasticdl-mnist.fullname" . }}{{ if include "elasticdl-mnist.text" .Values.run }}-{{ include "elasticdl-mnist.text"
    .Values.run }}{{ end }}
{{- end }}

{{/* The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the
     name of the chart. */}}
{{- define "elasticdl-mnist.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "elasticdl-mnist.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "elasticdl-mnist.name" . }}
{{- end }}
{{- end }}

{{/* The name of the chart, or nameOverride. */}}
{{- define "elasticdl-mnist.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number, such as 2 in --set run=2, becomes a text with all digits. */}}
{{- define "elasticdl-mnist.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "elasticdl-mnist.labels" -}}
{{ include "elasticdl-mnist.owner" . }}
{{- with .Values.labels }}
{{- include "elasticdl-mnist.texts" . }}
{{- end }}
{{- end }}

{{/* The labels of the chart and the Helm release. */}}
{{- define "elasticdl-mnist.owner" -}}
app.kubernetes.io/name: {{ include "elasticdl-mnist.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts. Numbers and booleans become texts, and maps remain maps. */}}
{{- define "elasticdl-mnist.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The selector of the pods of a run. */}}
{{- define "elasticdl-mnist.selector" -}}
tfgen/job: {{ include "elasticdl-mnist.fullname" . | quote }}
tfgen/run: {{ include "elasticdl-mnist.text" .Values.run | quote }}
{{- end }}

{{/* The security context of a pod, for the profile baseline. */}}
{{- define "elasticdl-mnist.podSecurityContext" -}}
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The resources of a role, as an argument of ElasticDL. Takes resources. */}}
{{- define "elasticdl-mnist.resources" -}}
{{- if .resources.cpu }}cpu={{ .resources.cpu }}{{ end }}
{{- if and .resources.cpu (or .resources.memory .resources.gpu.count) }},{{ end }}
{{- if .resources.memory }}memory={{ .resources.memory }}{{ end }}
{{- if and .resources.memory .resources.gpu.count }},{{ end }}
{{- if .resources.gpu.count }}gpu={{ .resources.gpu.count | int64 }}{{ end }}
{{- end }}

{{/* The volumes, as the argument --volume. */}}
{{- define "elasticdl-mnist.volumes" -}}
{{- $separator := "" -}}
{{- range $name, $storage := .Values.storage -}}
{{ $separator }}{{ $separator = ";" }}claim_name={{ include "elasticdl-mnist.claimName"
    (dict "root" $ "name" $name "storage" $storage) }},mount_path={{ $storage.mountPath }}{{ if $storage.subPath }},sub_path={{ $storage.subPath }}{{ end }}
{{- end }}
{{- end }}

{{/* The labels that the master adds to its pods. */}}
{{- define "elasticdl-mnist.clusterSpec" -}}
{"pod_spec":{"labels":{"tfgen/job":"{{ include "elasticdl-mnist.fullname" . }}","tfgen/run":"{{ include "elasticdl-mnist.text"
    .Values.run }}"}}}
{{- end }}

{{/* The security context of a container, for the profile baseline. */}}
{{- define "elasticdl-mnist.containerSecurityContext" -}}
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
{{- end }}

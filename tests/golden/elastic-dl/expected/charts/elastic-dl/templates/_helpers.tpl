{{- /* Names, labels and the cluster. A named template takes the root context or a dict with the listed keys. */}}

{{/* The name of the run: JOB-RUN, or JOB if the run has no name. */}}
{{- define "elastic-dl.run" -}}
{{ include "elastic-dl.fullname" . }}{{ if include "elastic-dl.text" .Values.run }}-{{ include "elastic-dl.text" .Values.run }}{{ end }}
{{- end }}

{{/* The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the
     name of the chart. */}}
{{- define "elastic-dl.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "elastic-dl.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "elastic-dl.name" . }}
{{- end }}
{{- end }}

{{/* The name of the chart, or nameOverride. */}}
{{- define "elastic-dl.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number, such as 2 in --set run=2, becomes a text with all digits. */}}
{{- define "elastic-dl.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "elastic-dl.labels" -}}
{{ include "elastic-dl.owner" . }}
{{- with .Values.labels }}
{{- include "elastic-dl.texts" . }}
{{- end }}
{{- end }}

{{/* The labels of the chart and the Helm release. */}}
{{- define "elastic-dl.owner" -}}
app.kubernetes.io/name: {{ include "elastic-dl.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts. Numbers and booleans become texts, and maps remain maps. */}}
{{- define "elastic-dl.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The selector of the pods of a run. */}}
{{- define "elastic-dl.selector" -}}
tfgen/job: {{ include "elastic-dl.fullname" . | quote }}
tfgen/run: {{ include "elastic-dl.text" .Values.run | quote }}
{{- end }}

{{/* The security context of a pod, for the profile privileged. */}}
{{- define "elastic-dl.podSecurityContext" -}}
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}

{{/* The resources of a role, as an argument of ElasticDL. Takes resources. */}}
{{- define "elastic-dl.resources" -}}
{{- if .resources.cpu }}cpu={{ .resources.cpu }}{{ end }}
{{- if and .resources.cpu (or .resources.memory .resources.gpu.count) }},{{ end }}
{{- if .resources.memory }}memory={{ .resources.memory }}{{ end }}
{{- if and .resources.memory .resources.gpu.count }},{{ end }}
{{- if .resources.gpu.count }}gpu={{ .resources.gpu.count | int64 }}{{ end }}
{{- end }}

{{/* The volumes, as the argument --volume. */}}
{{- define "elastic-dl.volumes" -}}
{{- $separator := "" -}}
{{- range $name, $storage := .Values.storage -}}
{{ $separator }}{{ $separator = ";" }}{{ if $storage.hostPath }}host_path={{ $storage.hostPath.path }}{{ else }}claim_name={{ include "elastic-dl.claimName"
    (dict "root" $ "name" $name "storage" $storage) }}{{ end }},mount_path={{ $storage.mountPath }}{{ if $storage.subPath }},sub_path={{ $storage.subPath }}{{ end }}
{{- end }}
{{- end }}

{{/* The labels that the master adds to its pods. */}}
{{- define "elastic-dl.clusterSpec" -}}
{"pod_spec":{"labels":{"tfgen/job":"{{ include "elastic-dl.fullname" . }}","tfgen/run":"{{ include "elastic-dl.text" .Values.run }}"}}}
{{- end }}

{{/* The security context of a container, for the profile privileged. */}}
{{- define "elastic-dl.containerSecurityContext" -}}
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
{{- end }}

{{- /* Names, labels and the cluster. A part takes the root context, or a dict of what its comment says. */}}

{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "elastic-dl.run" -}}
{{ include "elastic-dl.fullname" . }}{{ if include "elastic-dl.text" .Values.run }}-{{ include "elastic-dl.text" .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: fullnameOverride, else the release's, with the chart's behind it unless it is in it already. */}}
{{- define "elastic-dl.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "elastic-dl.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "elastic-dl.name" . }}
{{- end }}
{{- end }}

{{/* The chart's name: nameOverride, else its own. */}}
{{- define "elastic-dl.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number in the values, such as the 2 of --set run=2, is written in all its digits. */}}
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

{{/* The labels that say whose an object is. */}}
{{- define "elastic-dl.owner" -}}
app.kubernetes.io/name: {{ include "elastic-dl.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts, with numbers and booleans as texts. A map in it stays a map. */}}
{{- define "elastic-dl.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
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

{{/* A role's resources, as ElasticDL's arguments have them. Takes resources. */}}
{{- define "elastic-dl.resources" -}}
{{- if .resources.cpu }}cpu={{ .resources.cpu }}{{ end }}
{{- if and .resources.cpu (or .resources.memory .resources.gpu.count) }},{{ end }}
{{- if .resources.memory }}memory={{ .resources.memory }}{{ end }}
{{- if and .resources.memory .resources.gpu.count }},{{ end }}
{{- if .resources.gpu.count }}gpu={{ .resources.gpu.count | int64 }}{{ end }}
{{- end }}

{{/* The volumes, as ElasticDL's --volume has them. */}}
{{- define "elastic-dl.volumes" -}}
{{- $separator := "" -}}
{{- range $name, $storage := .Values.storage -}}
{{ $separator }}{{ $separator = ";" }}{{ if $storage.hostPath }}host_path={{ $storage.hostPath.path }}{{ else }}claim_name={{ include "elastic-dl.claimName"
    (dict "root" $ "name" $name "storage" $storage) }}{{ end }},mount_path={{ $storage.mountPath }}{{ if $storage.subPath }},sub_path={{ $storage.subPath }}{{ end }}
{{- end }}
{{- end }}

{{/* What the master adds to the pods that it makes. */}}
{{- define "elastic-dl.clusterSpec" -}}
{"pod_spec":{"labels":{"tfgen/job":"{{ include "elastic-dl.fullname" . }}","tfgen/run":"{{ include "elastic-dl.text" .Values.run }}"}}}
{{- end }}

{{/* The security context of a container, for the profile privileged. */}}
{{- define "elastic-dl.containerSecurityContext" -}}
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
{{- end }}

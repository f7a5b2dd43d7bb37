{{- /* Names, labels and the cluster. A named template takes the root context or a dict with the listed keys. */}}

{{/* The name of the run: JOB-RUN, or JOB if the run has no name. */}}
{{- define "tf1-translate.run" -}}
{{ include "tf1-translate.fullname" . }}{{ if include "tf1-translate.text" .Values.run }}-{{ include "tf1-translate.text"
    .Values.run }}{{ end }}
{{- end }}

{{/* The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the
     name of the chart. */}}
{{- define "tf1-translate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "tf1-translate.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "tf1-translate.name" . }}
{{- end }}
{{- end }}

{{/* The name of the chart, or nameOverride. */}}
{{- define "tf1-translate.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number, such as 2 in --set run=2, becomes a text with all digits. */}}
{{- define "tf1-translate.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "tf1-translate.labels" -}}
{{ include "tf1-translate.owner" . }}
{{- with .Values.labels }}
{{- include "tf1-translate.texts" . }}
{{- end }}
{{- end }}

{{/* The labels of the chart and the Helm release. */}}
{{- define "tf1-translate.owner" -}}
app.kubernetes.io/name: {{ include "tf1-translate.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts. Numbers and booleans become texts, and maps remain maps. */}}
{{- define "tf1-translate.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The selector of the pods of a run. */}}
{{- define "tf1-translate.selector" -}}
tfgen/job: {{ include "tf1-translate.fullname" . | quote }}
tfgen/run: {{ include "tf1-translate.text" .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "tf1-translate.cluster" -}}
{"ps":[{{ include "tf1-translate.hosts" (dict "root" $ "role" "ps" "replicas"
    .Values.roles.ps.replicas) }}],"worker":[{{ include "tf1-translate.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of the tasks of a role, by index. Takes root, role, replicas. */}}
{{- define "tf1-translate.hosts" -}}
{{- $run := include "tf1-translate.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222"{{ end }}
{{- end }}

{{/* The hosts of the tasks of a role, as the value of a flag. Takes root, role, replicas. */}}
{{- define "tf1-translate.hostList" -}}
{{- $run := include "tf1-translate.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222{{ end }}
{{- end }}

{{/* The security context of a pod, for the profile privileged. */}}
{{- define "tf1-translate.podSecurityContext" -}}
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}

{{/* The security context of a container, for the profile privileged. */}}
{{- define "tf1-translate.containerSecurityContext" -}}
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
{{- end }}

{{/* A map of quantities. Numbers become texts: the schemas of custom kinds refuse a fraction. */}}
{{- define "tf1-translate.amounts" -}}
{{- range $name, $amount := . }}
{{ $name | quote }}: {{ toString $amount | quote }}
{{- end }}
{{- end }}

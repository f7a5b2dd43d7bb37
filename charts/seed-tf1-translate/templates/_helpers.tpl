{{- /* Names, labels and the cluster. A part takes the root context, or a dict of what its comment says. */}}

{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "seed-tf1-translate.run" -}}
{{ include "seed-tf1-translate.fullname" . }}{{ if include "seed-tf1-translate.text" .Values.run }}-{{ include "seed-tf1-translate.text"
    .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: fullnameOverride, else the release's, with the chart's behind it unless it is in it already. */}}
{{- define "seed-tf1-translate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "seed-tf1-translate.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "seed-tf1-translate.name" . }}
{{- end }}
{{- end }}

{{/* The chart's name: nameOverride, else its own. */}}
{{- define "seed-tf1-translate.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number in the values, such as the 2 of --set run=2, is written in all its digits. */}}
{{- define "seed-tf1-translate.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "seed-tf1-translate.labels" -}}
{{ include "seed-tf1-translate.owner" . }}
{{- with .Values.labels }}
{{- include "seed-tf1-translate.texts" . }}
{{- end }}
{{- end }}

{{/* The labels that say whose an object is. */}}
{{- define "seed-tf1-translate.owner" -}}
app.kubernetes.io/name: {{ include "seed-tf1-translate.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts, with numbers and booleans as texts. A map in it stays a map. */}}
{{- define "seed-tf1-translate.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "seed-tf1-translate.selector" -}}
tfgen/job: {{ include "seed-tf1-translate.fullname" . | quote }}
tfgen/run: {{ include "seed-tf1-translate.text" .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "seed-tf1-translate.cluster" -}}
{"ps":[{{ include "seed-tf1-translate.hosts" (dict "root" $ "role" "ps" "replicas"
    .Values.roles.ps.replicas) }}],"worker":[{{ include "seed-tf1-translate.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of a role's tasks, by index. Takes root, role, replicas. */}}
{{- define "seed-tf1-translate.hosts" -}}
{{- $run := include "seed-tf1-translate.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222"{{ end }}
{{- end }}

{{/* The hosts of a role's tasks, as flags have them. Takes root, role, replicas. */}}
{{- define "seed-tf1-translate.hostList" -}}
{{- $run := include "seed-tf1-translate.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222{{ end }}
{{- end }}

{{/* The security context of a pod, for the profile privileged. */}}
{{- define "seed-tf1-translate.podSecurityContext" -}}
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}

{{/* The security context of a container, for the profile privileged. */}}
{{- define "seed-tf1-translate.containerSecurityContext" -}}
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
{{- end }}

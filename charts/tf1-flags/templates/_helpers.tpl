{{- /* Names, labels and the cluster. A part takes the root context, or a dict of what its comment says. */}}

{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "tf1-flags.run" -}}
{{ include "tf1-flags.fullname" . }}{{ if include "tf1-flags.text" .Values.run }}-{{ include "tf1-flags.text" .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: fullnameOverride, else the release's, with the chart's behind it unless it is in it already. */}}
{{- define "tf1-flags.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "tf1-flags.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "tf1-flags.name" . }}
{{- end }}
{{- end }}

{{/* The chart's name: nameOverride, else its own. */}}
{{- define "tf1-flags.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number in the values, such as the 2 of --set run=2, is written in all its digits. */}}
{{- define "tf1-flags.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "tf1-flags.labels" -}}
{{ include "tf1-flags.owner" . }}
{{- with .Values.labels }}
{{- include "tf1-flags.texts" . }}
{{- end }}
{{- end }}

{{/* The labels that say whose an object is. */}}
{{- define "tf1-flags.owner" -}}
app.kubernetes.io/name: {{ include "tf1-flags.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts, with numbers and booleans as texts. A map in it stays a map. */}}
{{- define "tf1-flags.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "tf1-flags.selector" -}}
tfgen/job: {{ include "tf1-flags.fullname" . | quote }}
tfgen/run: {{ include "tf1-flags.text" .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "tf1-flags.cluster" -}}
{"ps":[{{ include "tf1-flags.hosts" (dict "root" $ "role" "ps" "replicas"
    .Values.roles.ps.replicas) }}],"worker":[{{ include "tf1-flags.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of a role's tasks, by index. Takes root, role, replicas. */}}
{{- define "tf1-flags.hosts" -}}
{{- $run := include "tf1-flags.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222"{{ end }}
{{- end }}

{{/* The hosts of a role's tasks, as flags have them. Takes root, role, replicas. */}}
{{- define "tf1-flags.hostList" -}}
{{- $run := include "tf1-flags.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222{{ end }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "tf1-flags.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "tf1-flags.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

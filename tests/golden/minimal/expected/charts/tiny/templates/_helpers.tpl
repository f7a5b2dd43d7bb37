{{- /* Names, labels and the cluster. A part takes the root context, or a dict of what its comment says. */}}

{{/* The name of one run: the job's, and the run's behind it where there is one. */}}
{{- define "tiny.run" -}}
{{ include "tiny.fullname" . }}{{ if include "tiny.text" .Values.run }}-{{ include "tiny.text" .Values.run }}{{ end }}
{{- end }}

{{/* The job's name: fullnameOverride, else the release's, with the chart's behind it unless it is in it already. */}}
{{- define "tiny.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "tiny.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "tiny.name" . }}
{{- end }}
{{- end }}

{{/* The chart's name: nameOverride, else its own. */}}
{{- define "tiny.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number in the values, such as the 2 of --set run=2, is written in all its digits. */}}
{{- define "tiny.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "tiny.labels" -}}
{{ include "tiny.owner" . }}
{{- with .Values.labels }}
{{- include "tiny.texts" . }}
{{- end }}
{{- end }}

{{/* The labels that say whose an object is. */}}
{{- define "tiny.owner" -}}
app.kubernetes.io/name: {{ include "tiny.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts, with numbers and booleans as texts. A map in it stays a map. */}}
{{- define "tiny.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What selects the pods of one run. */}}
{{- define "tiny.selector" -}}
tfgen/job: {{ include "tiny.fullname" . | quote }}
tfgen/run: {{ include "tiny.text" .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "tiny.cluster" -}}
{{- $run := include "tiny.run" . -}}
{"chief":["{{ $run }}-chief-0.{{ $run }}:2222"],"ps":[{{ include "tiny.hosts"
    (dict "root" $ "role" "ps" "replicas" .Values.roles.ps.replicas) }}],"worker":[{{ include "tiny.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of a role's tasks, by index. Takes root, role, replicas. */}}
{{- define "tiny.hosts" -}}
{{- $run := include "tiny.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222"{{ end }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "tiny.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "tiny.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

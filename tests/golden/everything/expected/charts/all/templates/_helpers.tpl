{{- /* Names, labels and the cluster. A named template takes the root context or a dict with the listed keys. */}}

{{/* The name of the run: JOB-RUN, or JOB if the run has no name. */}}
{{- define "all.run" -}}
{{ include "all.fullname" . }}{{ if include "all.text" .Values.run }}-{{ include "all.text" .Values.run }}{{ end }}
{{- end }}

{{/* The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the
     name of the chart. */}}
{{- define "all.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "all.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "all.name" . }}
{{- end }}
{{- end }}

{{/* The name of the chart, or nameOverride. */}}
{{- define "all.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number, such as 2 in --set run=2, becomes a text with all digits. */}}
{{- define "all.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "all.labels" -}}
{{ include "all.owner" . }}
{{- with .Values.labels }}
{{- include "all.texts" . }}
{{- end }}
{{- end }}

{{/* The labels of the chart and the Helm release. */}}
{{- define "all.owner" -}}
app.kubernetes.io/name: {{ include "all.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts. Numbers and booleans become texts, and maps remain maps. */}}
{{- define "all.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The selector of the pods of a run. */}}
{{- define "all.selector" -}}
tfgen/job: {{ include "all.fullname" . | quote }}
tfgen/run: {{ include "all.text" .Values.run | quote }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "all.cluster" -}}
{{- $run := include "all.run" . -}}
{"chief":["{{ $run }}-chief-0.{{ $run }}:3333"],"ps":[{{ include "all.hosts"
    (dict "root" $ "role" "ps" "replicas" .Values.roles.ps.replicas) }}],"worker":[{{ include "all.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of the tasks of a role, by index. Takes root, role, replicas. */}}
{{- define "all.hosts" -}}
{{- $run := include "all.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:3333"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG, which contains the evaluator. */}}
{{- define "all.evaluatorCluster" -}}
{{- $run := include "all.run" . -}}
{"chief":["{{ $run }}-chief-0.{{ $run }}:3333"],"ps":[{{ include "all.hosts"
    (dict "root" $ "role" "ps" "replicas" .Values.roles.ps.replicas) }}],"worker":[{{ include "all.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}],"evaluator":["{{ $run }}-evaluator-0.{{ $run }}:3333"]}
{{- end }}

{{/* A map of quantities. Numbers become texts: the schemas of custom kinds refuse a fraction. */}}
{{- define "all.amounts" -}}
{{- range $name, $amount := . }}
{{ $name | quote }}: {{ toString $amount | quote }}
{{- end }}
{{- end }}

{{/* The security context of a pod, for the profile privileged. */}}
{{- define "all.podSecurityContext" -}}
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}

{{/* The security context of a container, for the profile privileged. */}}
{{- define "all.containerSecurityContext" -}}
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
{{- end }}

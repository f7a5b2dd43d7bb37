{{- /* Names, labels and the cluster. A named template takes the root context or a dict with the listed keys. */}}

{{/* The name of the run: JOB-RUN, or JOB if the run has no name. */}}
{{- define "volcano-job.run" -}}
{{ include "volcano-job.fullname" . }}{{ if include "volcano-job.text" .Values.run }}-{{ include "volcano-job.text" .Values.run }}{{ end }}
{{- end }}

{{/* The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the
     name of the chart. */}}
{{- define "volcano-job.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains (include "volcano-job.name" .) .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ include "volcano-job.name" . }}
{{- end }}
{{- end }}

{{/* The name of the chart, or nameOverride. */}}
{{- define "volcano-job.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* A text. A number, such as 2 in --set run=2, becomes a text with all digits. */}}
{{- define "volcano-job.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "volcano-job.labels" -}}
{{ include "volcano-job.owner" . }}
{{- with .Values.labels }}
{{- include "volcano-job.texts" . }}
{{- end }}
{{- end }}

{{/* The labels of the chart and the Helm release. */}}
{{- define "volcano-job.owner" -}}
app.kubernetes.io/name: {{ include "volcano-job.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/* A map or list of texts. Numbers and booleans become texts, and maps remain maps. */}}
{{- define "volcano-job.texts" -}}
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The cluster part of TF_CONFIG. */}}
{{- define "volcano-job.cluster" -}}
{{- $run := include "volcano-job.run" . -}}
{"chief":["{{ $run }}-chief-0.{{ $run }}:2222"],"ps":[{{ include "volcano-job.hosts"
    (dict "root" $ "role" "ps" "replicas" .Values.roles.ps.replicas) }}],"worker":[{{ include "volcano-job.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}]}
{{- end }}

{{/* The hosts of the tasks of a role, by index. Takes root, role, replicas. */}}
{{- define "volcano-job.hosts" -}}
{{- $run := include "volcano-job.run" .root -}}
{{- range $i := until (int .replicas) }}{{ if $i }},{{ end }}"{{ $run }}-{{ $.role }}-{{ $i | int64 }}.{{ $run }}:2222"{{ end }}
{{- end }}

{{/* The cluster part of the evaluator's TF_CONFIG, which contains the evaluator. */}}
{{- define "volcano-job.evaluatorCluster" -}}
{{- $run := include "volcano-job.run" . -}}
{"chief":["{{ $run }}-chief-0.{{ $run }}:2222"],"ps":[{{ include "volcano-job.hosts"
    (dict "root" $ "role" "ps" "replicas" .Values.roles.ps.replicas) }}],"worker":[{{ include "volcano-job.hosts"
    (dict "root" $ "role" "worker" "replicas" .Values.roles.worker.replicas) }}],"evaluator":["{{ $run }}-evaluator-0.{{ $run }}:2222"]}
{{- end }}

{{/* The selector of the pods of a run. */}}
{{- define "volcano-job.selector" -}}
tfgen/job: {{ include "volcano-job.fullname" . | quote }}
tfgen/run: {{ include "volcano-job.text" .Values.run | quote }}
{{- end }}

{{/* A map of quantities. Numbers become texts: the schemas of custom kinds refuse a fraction. */}}
{{- define "volcano-job.amounts" -}}
{{- range $name, $amount := . }}
{{ $name | quote }}: {{ toString $amount | quote }}
{{- end }}
{{- end }}

{{/* The security context of a pod, for the profile restricted. */}}
{{- define "volcano-job.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.security.runAsUser | int64 }}
runAsGroup: {{ .Values.security.runAsGroup | int64 }}
fsGroup: {{ .Values.security.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, for the profile restricted. */}}
{{- define "volcano-job.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
capabilities:
  drop:
  - ALL
{{- end }}

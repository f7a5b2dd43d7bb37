{{- /* The pod of a task. The template of a role includes the pod with the name and values of the role. */}}

{{/* The pod of a task, as a PodTemplateSpec. Takes root, role, values. */}}
{{- define "keras-distribution.pod" -}}
metadata:
  labels:
    {{- include "keras-distribution.pod.labels" . | nindent 4 }}
  {{- /* The annotations safe-to-evict and do-not-disrupt keep the pod on its node, because a task that an
         autoscaler moves loses its work. A mesh sidecar is disabled, because a Job with such a sidecar never
         completes. */}}
  annotations:
    {{- include "keras-distribution.pod.annotations" . | nindent 4 }}
spec:
  {{- include "keras-distribution.pod.spec" . | nindent 2 }}
{{- end }}

{{/* The labels of a task's pod. Takes root, role, values. */}}
{{- define "keras-distribution.pod.labels" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") (include "keras-distribution.texts" .root.Values.labels | fromYaml)
    (include "keras-distribution.texts" .values.labels | fromYaml) -}}
{{ include "keras-distribution.selector" .root }}
tfgen/role: {{ .role | quote }}
app.kubernetes.io/name: {{ include "keras-distribution.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role | quote }}
{{- toYaml $labels | nindent 0 }}
{{- end }}

{{/* The annotations of a task's pod. Takes root, values. */}}
{{- define "keras-distribution.pod.annotations" -}}
{{- $annotations := mergeOverwrite (dict "cluster-autoscaler.kubernetes.io/safe-to-evict" "false" "karpenter.sh/do-not-disrupt" "true"
    "linkerd.io/inject" "disabled") (include "keras-distribution.texts" .root.Values.annotations | fromYaml)
    (include "keras-distribution.texts" .values.annotations | fromYaml) -}}
{{ toYaml $annotations }}
{{- if .root.Values.gang.enabled }}
{{- with .root.Values.gang.requiredTopology }}
kueue.x-k8s.io/podset-required-topology: {{ . | quote }}
{{- end }}
{{- with .root.Values.gang.preferredTopology }}
kueue.x-k8s.io/podset-preferred-topology: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The spec of a task's pod. Takes root, role, values. */}}
{{- define "keras-distribution.pod.spec" -}}
{{- $limits := dict }}
{{- if .values.resources.cpu }}
{{- $_ := set $limits "cpu" (toString .values.resources.cpu) }}
{{- end }}
{{- if .values.resources.memory }}
{{- $_ := set $limits "memory" (toString .values.resources.memory) }}
{{- end }}
{{- if .values.resources.gpu.count }}
{{- $_ := set $limits .values.resources.gpu.resource .values.resources.gpu.count }}
{{- $limits = mergeOverwrite $limits (include "keras-distribution.amounts" .values.resources.gpu.share | fromYaml) }}
{{- end }}
{{- $limits = mergeOverwrite $limits (include "keras-distribution.amounts" .values.resources.limits | fromYaml) }}
{{- $devices := dict }}
{{- range $name, $value := $limits }}
{{- if and (regexMatch "gpu|nvidia|vcuda" $name) (ne (printf "%v" $value) "0") }}
{{- $_ := set $devices $name $value }}
{{- end }}
{{- end }}
{{- $gpus := or .values.resources.gpu.count $devices }}
{{- $locked := dict }}
{{- range $name, $storage := .root.Values.storage }}
{{- if and $storage.runs (or (not $storage.for) (has $.role $storage.for)) }}
{{- $_ := set $locked $name $storage }}
{{- end }}
{{- end -}}
automountServiceAccountToken: false
{{- if and .root.Values.gang.enabled .root.Values.gang.schedulerName }}
schedulerName: {{ .root.Values.gang.schedulerName | quote }}
{{- end }}
{{- with dig "priorityClassName" .root.Values.priorityClassName .values }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with dig "runtimeClassName" .root.Values.runtimeClassName .values }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with dig "serviceAccountName" .root.Values.serviceAccountName .values }}
serviceAccountName: {{ . | quote }}
{{- end }}
{{- /* No environment variables for Services: the variables of many Services can exceed the size limit of a
       process. */}}
enableServiceLinks: false
restartPolicy: Never
{{- if .root.Values.deadline }}
{{- if $locked }}
activeDeadlineSeconds: {{ add .root.Values.deadline .root.Values.lockWait }}
{{- else }}
activeDeadlineSeconds: {{ .root.Values.deadline | int64 }}
{{- end }}
{{- end }}
terminationGracePeriodSeconds: {{ dig "terminationGracePeriodSeconds" 30 .values | int64 }}
{{- if not .root.Values.security.hostUsers }}
hostUsers: false
{{- end }}
securityContext:
  {{- include "keras-distribution.podSecurityContext" .root | nindent 2 }}
{{- include "keras-distribution.pod.scheduling" (dict "root" .root "role" .role "values" .values "gpus" $gpus) }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
volumes:
{{- include "keras-distribution.pod.volumes" (dict "root" .root "role" .role "values" .values "locked" $locked) | nindent 0 }}
{{- if $locked }}
initContainers:
{{- range $name, $storage := $locked }}
- name: {{ printf "lock-%v" $name | quote }}
  {{- include "keras-distribution.pod.runLock" (dict "root" $.root "values" $.values "name" $name "storage" $storage) | nindent 2 }}
{{- end }}
{{- end }}
containers:
- name: tensorflow
  {{- include "keras-distribution.pod.container" (dict "root" .root "role" .role "values" .values "limits" $limits "gpus" $gpus) | nindent
      2 }}
{{- end }}

{{/* The main container of a task, without its field name. Takes root, role, values, limits, gpus. */}}
{{- define "keras-distribution.pod.container" -}}
image: {{ dig "image" .root.Values.image .values | quote }}
{{- with dig "imagePullPolicy" .root.Values.imagePullPolicy .values }}
imagePullPolicy: {{ . | quote }}
{{- end }}
{{- with dig "command" .root.Values.command .values }}
command:
{{- include "keras-distribution.texts" . }}
{{- end }}
{{- with dig "args" .root.Values.args .values }}
args:
{{- include "keras-distribution.texts" . }}
{{- end }}
{{- with dig "workingDir" .root.Values.workingDir .values }}
workingDir: {{ . | quote }}
{{- end }}
{{- /* Kubernetes expands $(X) only from preceding variables, so the variables of tfgen come first, and the values
       with a reference come last. Without a GPU, NVIDIA_VISIBLE_DEVICES=void hides the GPUs of the node. By
       default, each thread pool of TensorFlow has a thread for each core of the node. OMP_NUM_THREADS and TF_NUM_*
       reduce the pools to the CPU limit. TF_NUM_INTEROP_THREADS is at least 2, because a worker that waits for a
       parameter server blocks one thread. */}}
env:
{{- include "keras-distribution.pod.env" (dict "root" .root "values" .values "cpuLimit" .limits.cpu "gpus" .gpus) | nindent 0 }}
{{- with dig "envFrom" .root.Values.envFrom .values }}
envFrom:
{{- toYaml . | nindent 0 }}
{{- end }}
ports:
- name: tensorflow
  containerPort: 1234
  protocol: TCP
{{- include "keras-distribution.pod.resources" . }}
securityContext:
  {{- include "keras-distribution.containerSecurityContext" .root | nindent 2 }}
volumeMounts:
{{- include "keras-distribution.pod.mounts" . | nindent 0 }}
{{- end }}

{{/* The resources of a task's main container. Takes root, values, limits. */}}
{{- define "keras-distribution.pod.resources" -}}
{{- $requests := dict }}
{{- if .values.resources.cpu }}
{{- $_ := set $requests "cpu" (toString .values.resources.cpu) }}
{{- end }}
{{- if .values.resources.memory }}
{{- $_ := set $requests "memory" (toString .values.resources.memory) }}
{{- end }}
{{- $requests = mergeOverwrite $requests (include "keras-distribution.amounts" .values.resources.requests | fromYaml) -}}
{{- if or $requests .limits }}
resources:
  {{- with $requests }}
  requests:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .limits }}
  limits:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

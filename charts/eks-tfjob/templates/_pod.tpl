{{- /* The pod of a task. The template of a role includes the pod with the name and values of the role. */}}

{{/* The pod of a task, as a PodTemplateSpec. Takes root, role, values. */}}
{{- define "eks-tfjob.pod" -}}
metadata:
  labels:
    {{- include "eks-tfjob.pod.labels" . | nindent 4 }}
  {{- /* The annotations safe-to-evict and do-not-disrupt keep the pod on its node, because a task that an
         autoscaler moves loses its work. A mesh sidecar is disabled, because a Job with such a sidecar never
         completes. */}}
  annotations:
    {{- include "eks-tfjob.pod.annotations" . | nindent 4 }}
spec:
  {{- include "eks-tfjob.pod.spec" . | nindent 2 }}
{{- end }}

{{/* The labels of a task's pod. Takes root, role, values. */}}
{{- define "eks-tfjob.pod.labels" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") (include "eks-tfjob.texts" .root.Values.labels | fromYaml)
    (include "eks-tfjob.texts" .values.labels | fromYaml) -}}
{{ include "eks-tfjob.selector" .root }}
tfgen/role: {{ .role | quote }}
app.kubernetes.io/name: {{ include "eks-tfjob.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role | quote }}
{{- toYaml $labels | nindent 0 }}
{{- end }}

{{/* The annotations of a task's pod. Takes root, values. */}}
{{- define "eks-tfjob.pod.annotations" -}}
{{- $annotations := mergeOverwrite (dict "cluster-autoscaler.kubernetes.io/safe-to-evict" "false" "karpenter.sh/do-not-disrupt" "true"
    "linkerd.io/inject" "disabled") (include "eks-tfjob.texts" .root.Values.annotations | fromYaml)
    (include "eks-tfjob.texts" .values.annotations | fromYaml) -}}
{{ toYaml $annotations }}
{{- end }}

{{/* The spec of a task's pod. Takes root, role, values. */}}
{{- define "eks-tfjob.pod.spec" -}}
{{- $limits := dict }}
{{- if .values.resources.cpu }}
{{- $_ := set $limits "cpu" (toString .values.resources.cpu) }}
{{- end }}
{{- if .values.resources.memory }}
{{- $_ := set $limits "memory" (toString .values.resources.memory) }}
{{- end }}
{{- if .values.resources.gpu.count }}
{{- $_ := set $limits .values.resources.gpu.resource .values.resources.gpu.count }}
{{- $limits = mergeOverwrite $limits (include "eks-tfjob.amounts" .values.resources.gpu.share | fromYaml) }}
{{- end }}
{{- $limits = mergeOverwrite $limits (include "eks-tfjob.amounts" .values.resources.limits | fromYaml) }}
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
{{- if and (eq .role "worker") .root.Values.deadline }}
{{- if $locked }}
activeDeadlineSeconds: {{ add .root.Values.deadline .root.Values.lockWait }}
{{- else }}
activeDeadlineSeconds: {{ .root.Values.deadline | int64 }}
{{- end }}
{{- end }}
{{- /* TensorFlow's Server.join ignores SIGTERM, so a task that only serves would use its whole grace period. */}}
{{- if hasKey .values "terminationGracePeriodSeconds" }}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds | int64 }}
{{- else if eq .role "ps" }}
terminationGracePeriodSeconds: 5
{{- else }}
terminationGracePeriodSeconds: 30
{{- end }}
{{- if not .root.Values.security.hostUsers }}
hostUsers: false
{{- end }}
securityContext:
  {{- include "eks-tfjob.podSecurityContext" .root | nindent 2 }}
{{- include "eks-tfjob.pod.scheduling" (dict "root" .root "role" .role "values" .values "gpus" $gpus) }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
volumes:
{{- include "eks-tfjob.pod.volumes" (dict "root" .root "role" .role "values" .values "locked" $locked) | nindent 0 }}
{{- if and (eq .role "worker") $locked }}
initContainers:
{{- range $name, $storage := $locked }}
- name: {{ printf "lock-%v" $name | quote }}
  {{- include "eks-tfjob.pod.runLock" (dict "root" $.root "values" $.values "name" $name "storage" $storage) | nindent 2 }}
{{- end }}
{{- end }}
containers:
- name: tensorflow
  {{- include "eks-tfjob.pod.container" (dict "root" .root "role" .role "values" .values "limits" $limits "gpus" $gpus) | nindent 2 }}
{{- end }}

{{/* The main container of a task, without its field name. Takes root, role, values, limits, gpus. */}}
{{- define "eks-tfjob.pod.container" -}}
image: {{ dig "image" .root.Values.image .values | quote }}
{{- with dig "imagePullPolicy" .root.Values.imagePullPolicy .values }}
imagePullPolicy: {{ . | quote }}
{{- end }}
{{- with dig "command" .root.Values.command .values }}
command:
{{- include "eks-tfjob.texts" . }}
{{- end }}
{{- with dig "args" .root.Values.args .values }}
args:
{{- include "eks-tfjob.texts" . }}
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
{{- include "eks-tfjob.pod.env" (dict "root" .root "values" .values "cpuLimit" .limits.cpu "gpus" .gpus) | nindent 0 }}
{{- with dig "envFrom" .root.Values.envFrom .values }}
envFrom:
{{- toYaml . | nindent 0 }}
{{- end }}
ports:
- name: tfjob-port
  containerPort: 2222
  protocol: TCP
{{- include "eks-tfjob.pod.resources" . }}
securityContext:
  {{- include "eks-tfjob.containerSecurityContext" .root | nindent 2 }}
volumeMounts:
{{- include "eks-tfjob.pod.mounts" . | nindent 0 }}
{{- end }}

{{/* The resources of a task's main container. Takes root, values, limits. */}}
{{- define "eks-tfjob.pod.resources" -}}
{{- $requests := dict }}
{{- if .values.resources.cpu }}
{{- $_ := set $requests "cpu" (toString .values.resources.cpu) }}
{{- end }}
{{- if .values.resources.memory }}
{{- $_ := set $requests "memory" (toString .values.resources.memory) }}
{{- end }}
{{- $requests = mergeOverwrite $requests (include "eks-tfjob.amounts" .values.resources.requests | fromYaml) -}}
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

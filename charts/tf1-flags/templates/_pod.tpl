{{- /* The pod of a task. The template of a role includes the pod with the name and values of the role. */}}

{{/* The hash of pod, for a label of the pods and for the immutable selector of a StatefulSet. Takes root, role,
     values. */}}
{{- define "tf1-flags.podHash" -}}
{{ printf "%s\n" (include "tf1-flags.pod" .) | fromYaml | mustToRawJson | sha256sum | trunc 12 }}
{{- end }}

{{/* The pod of a task, as a PodTemplateSpec. Takes root, role, values, hash. */}}
{{- define "tf1-flags.pod" -}}
metadata:
  labels:
    {{- include "tf1-flags.pod.labels" . | nindent 4 }}
    {{- /* The hash of this pod template. A change of the template needs a new run. */}}
    {{- with .hash }}
    tfgen/pod-template-hash: {{ . | quote }}
    {{- end }}
  {{- /* The annotations safe-to-evict and do-not-disrupt keep the pod on its node, because a task that an
         autoscaler moves loses its work. A mesh sidecar is disabled, because a Job with such a sidecar never
         completes. */}}
  annotations:
    {{- include "tf1-flags.pod.annotations" . | nindent 4 }}
spec:
  {{- include "tf1-flags.pod.spec" . | nindent 2 }}
{{- end }}

{{/* The labels of a task's pod. Takes root, role, values. */}}
{{- define "tf1-flags.pod.labels" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") (include "tf1-flags.texts" .root.Values.labels | fromYaml)
    (include "tf1-flags.texts" .values.labels | fromYaml) -}}
{{ include "tf1-flags.selector" .root }}
tfgen/role: {{ .role | quote }}
app.kubernetes.io/name: {{ include "tf1-flags.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role | quote }}
{{- toYaml $labels | nindent 0 }}
{{- end }}

{{/* The annotations of a task's pod. Takes root, values. */}}
{{- define "tf1-flags.pod.annotations" -}}
{{- $annotations := mergeOverwrite (dict "cluster-autoscaler.kubernetes.io/safe-to-evict" "false" "karpenter.sh/do-not-disrupt" "true"
    "linkerd.io/inject" "disabled") (include "tf1-flags.texts" .root.Values.annotations | fromYaml)
    (include "tf1-flags.texts" .values.annotations | fromYaml) -}}
{{ toYaml $annotations }}
{{- end }}

{{/* The spec of a task's pod. Takes root, role, values. */}}
{{- define "tf1-flags.pod.spec" -}}
{{- $limits := dict }}
{{- if .values.resources.cpu }}
{{- $_ := set $limits "cpu" (toString .values.resources.cpu) }}
{{- end }}
{{- if .values.resources.memory }}
{{- $_ := set $limits "memory" (toString .values.resources.memory) }}
{{- end }}
{{- if .values.resources.gpu.count }}
{{- $_ := set $limits .values.resources.gpu.resource .values.resources.gpu.count }}
{{- $limits = mergeOverwrite $limits (include "tf1-flags.amounts" .values.resources.gpu.share | fromYaml) }}
{{- end }}
{{- $limits = mergeOverwrite $limits (include "tf1-flags.amounts" .values.resources.limits | fromYaml) }}
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
{{- if eq .role "worker" }}
subdomain: {{ include "tf1-flags.run" .root | quote }}
restartPolicy: Never
{{- if .root.Values.deadline }}
{{- if $locked }}
activeDeadlineSeconds: {{ add .root.Values.deadline .root.Values.lockWait }}
{{- else }}
activeDeadlineSeconds: {{ .root.Values.deadline | int64 }}
{{- end }}
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
  {{- include "tf1-flags.podSecurityContext" .root | nindent 2 }}
{{- include "tf1-flags.pod.scheduling" (dict "root" .root "role" .role "values" .values "gpus" $gpus) }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
volumes:
{{- include "tf1-flags.pod.volumes" (dict "root" .root "role" .role "values" .values "locked" $locked) | nindent 0 }}
{{- if and (eq .role "worker") $locked }}
initContainers:
{{- range $name, $storage := $locked }}
- name: {{ printf "lock-%v" $name | quote }}
  {{- include "tf1-flags.pod.runLock" (dict "root" $.root "values" $.values "name" $name "storage" $storage) | nindent 2 }}
{{- end }}
{{- end }}
containers:
- name: tensorflow
  {{- include "tf1-flags.pod.container" (dict "root" .root "role" .role "values" .values "limits" $limits "gpus" $gpus) | nindent 2 }}
{{- end }}

{{/* The main container of a task, without its field name. Takes root, role, values, limits, gpus. */}}
{{- define "tf1-flags.pod.container" -}}
image: {{ dig "image" .root.Values.image .values | quote }}
{{- with dig "imagePullPolicy" .root.Values.imagePullPolicy .values }}
imagePullPolicy: {{ . | quote }}
{{- end }}
{{- with dig "command" .root.Values.command .values }}
command:
{{- include "tf1-flags.texts" . }}
{{- end }}
args:
{{- with dig "args" .root.Values.args .values }}
{{- include "tf1-flags.texts" . }}
{{- end }}
- {{ printf "--job_name=%v" .role | quote }}
- --task_index=$(TASK_INDEX)
- --ps_hosts=$(PS_HOSTS)
- --worker_hosts=$(WORKER_HOSTS)
{{- with dig "workingDir" .root.Values.workingDir .values }}
workingDir: {{ . | quote }}
{{- end }}
{{- /* Kubernetes expands $(X) only from preceding variables, so the variables of tfgen come first, and the values
       with a reference come last. Without a GPU, NVIDIA_VISIBLE_DEVICES=void hides the GPUs of the node. By
       default, each thread pool of TensorFlow has a thread for each core of the node. OMP_NUM_THREADS and TF_NUM_*
       reduce the pools to the CPU limit. TF_NUM_INTEROP_THREADS is at least 2, because a worker that waits for a
       parameter server blocks one thread. */}}
env:
{{- include "tf1-flags.pod.env" (dict "root" .root "role" .role "values" .values "cpuLimit" .limits.cpu "gpus" .gpus) | nindent 0 }}
{{- with dig "envFrom" .root.Values.envFrom .values }}
envFrom:
{{- toYaml . | nindent 0 }}
{{- end }}
ports:
- name: tensorflow
  containerPort: 2222
  protocol: TCP
{{- include "tf1-flags.pod.resources" . }}
{{- if eq .role "ps" }}
readinessProbe:
  tcpSocket:
    port: tensorflow
{{- end }}
securityContext:
  {{- include "tf1-flags.containerSecurityContext" .root | nindent 2 }}
volumeMounts:
{{- include "tf1-flags.pod.mounts" . | nindent 0 }}
{{- end }}

{{/* The resources of a task's main container. Takes root, values, limits. */}}
{{- define "tf1-flags.pod.resources" -}}
{{- $requests := dict }}
{{- if .values.resources.cpu }}
{{- $_ := set $requests "cpu" (toString .values.resources.cpu) }}
{{- end }}
{{- if .values.resources.memory }}
{{- $_ := set $requests "memory" (toString .values.resources.memory) }}
{{- end }}
{{- $requests = mergeOverwrite $requests (include "tf1-flags.amounts" .values.resources.requests | fromYaml) -}}
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

{{/*
The pod of a task, whatever object makes it. The role's templates call it with the role's name and values.

  seed-eci-imagenet.pod.labels
  seed-eci-imagenet.pod.annotations
  seed-eci-imagenet.pod.spec
  seed-eci-imagenet.pod.resources
*/}}
{{/* The labels of a task's pod. Takes root, role, values. */}}
{{- define "seed-eci-imagenet.pod.labels" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") .root.Values.labels .values.labels -}}
{{ include "seed-eci-imagenet.selector" .root }}
tfgen/role: {{ .role | quote }}
app.kubernetes.io/name: {{ include "seed-eci-imagenet.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role | quote }}
{{- if and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "Label") }}
alibabacloud.com/eci: "true"
{{- end }}
{{- with $labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The annotations of a task's pod. Takes root, values. */}}
{{- define "seed-eci-imagenet.pod.annotations" -}}
{{- $annotations := mergeOverwrite
      (dict "cluster-autoscaler.kubernetes.io/safe-to-evict" "false" "karpenter.sh/do-not-disrupt" "true" "linkerd.io/inject" "disabled")
      .root.Values.annotations
      .values.annotations -}}
{{- if .root.Values.cloud.eci.enabled }}
{{- if .root.Values.cloud.eci.ephemeralStorage }}
k8s.aliyun.com/eci-extra-ephemeral-storage: {{ .root.Values.cloud.eci.ephemeralStorage | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.gpuDriverVersion }}
k8s.aliyun.com/eci-gpu-driver-version: {{ .root.Values.cloud.eci.gpuDriverVersion | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.gpuType }}
k8s.aliyun.com/eci-gpu-type: {{ .root.Values.cloud.eci.gpuType | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.imageCache.match }}
k8s.aliyun.com/eci-image-cache: "true"
{{- end }}
{{- if .root.Values.cloud.eci.imageCache.id }}
k8s.aliyun.com/eci-image-snapshot-id: {{ .root.Values.cloud.eci.imageCache.id | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.instanceFamily }}
k8s.aliyun.com/eci-instance-family: {{ .root.Values.cloud.eci.instanceFamily | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.ramRole }}
k8s.aliyun.com/eci-ram-role-name: {{ .root.Values.cloud.eci.ramRole | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.vSwitchStrategy }}
k8s.aliyun.com/eci-schedule-strategy: {{ .root.Values.cloud.eci.vSwitchStrategy | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.securityGroup }}
k8s.aliyun.com/eci-security-group: {{ .root.Values.cloud.eci.securityGroup | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.spot.priceLimit }}
k8s.aliyun.com/eci-spot-price-limit: {{ .root.Values.cloud.eci.spot.priceLimit | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.spot.strategy }}
k8s.aliyun.com/eci-spot-strategy: {{ .root.Values.cloud.eci.spot.strategy | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.specs }}
k8s.aliyun.com/eci-use-specs: {{ join "," .root.Values.cloud.eci.specs | quote }}
{{- end }}
{{- if .root.Values.cloud.eci.vSwitches }}
k8s.aliyun.com/eci-vswitch: {{ join "," .root.Values.cloud.eci.vSwitches | quote }}
{{- end }}
{{- end }}
{{- with $annotations }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The spec of a task's pod. Takes root, role, values. */}}
{{- define "seed-eci-imagenet.pod.spec" -}}
{{- $limits := dict }}
{{- if .values.resources.cpu }}
{{- $_ := set $limits "cpu" (toString .values.resources.cpu) }}
{{- end }}
{{- if .values.resources.memory }}
{{- $_ := set $limits "memory" (toString .values.resources.memory) }}
{{- end }}
{{- if .values.resources.gpu.count }}
{{- $_ := set $limits .values.resources.gpu.resource .values.resources.gpu.count }}
{{- end }}
{{- if .values.resources.gpu.count }}
{{- $limits = mergeOverwrite $limits .values.resources.gpu.share }}
{{- end }}
{{- $limits = mergeOverwrite $limits .values.resources.limits }}
{{- $devices := dict }}
{{- range $name, $value := $limits }}
{{- if and (regexMatch "gpu|nvidia|vcuda" $name) (ne (printf "%v" $value) "0") }}
{{- $_ := set $devices $name $value }}
{{- end }}
{{- end }}
{{- $gpus := or .values.resources.gpu.count $devices }}
{{- $locked := dict }}
{{- range $name, $storage := .root.Values.storage }}
{{- if and ($storage.runs | default "") (or (not $storage.for) (has $.role $storage.for)) }}
{{- $_ := set $locked $name $storage }}
{{- end }}
{{- end -}}
{{- if .values.priorityClassName | default .root.Values.priorityClassName }}
priorityClassName: {{ .values.priorityClassName | default .root.Values.priorityClassName | quote }}
{{- end }}
{{- if .values.runtimeClassName | default .root.Values.runtimeClassName }}
runtimeClassName: {{ .values.runtimeClassName | default .root.Values.runtimeClassName | quote }}
{{- end }}
{{- if .values.serviceAccountName | default .root.Values.serviceAccountName }}
serviceAccountName: {{ .values.serviceAccountName | default .root.Values.serviceAccountName | quote }}
{{- end }}
automountServiceAccountToken: false
{{- /* No variables for the Services of the namespace: many of them can fill a container's environment. */}}
enableServiceLinks: false
restartPolicy: OnFailure
{{- if .root.Values.deadline }}
{{- if $locked }}
activeDeadlineSeconds: {{ add .root.Values.deadline .root.Values.lockWait }}
{{- else }}
activeDeadlineSeconds: {{ .root.Values.deadline | int64 }}
{{- end }}
{{- end }}
{{- /* TensorFlow's Server.join ignores SIGTERM: a task that only serves is waited for in vain. */}}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds | default 30 | int64 }}
securityContext:
  {{- include "seed-eci-imagenet.podSecurityContext" .root | nindent 2 }}
{{- with include "seed-eci-imagenet.pod.scheduling" (dict "root" .root "role" .role "values" .values "gpus" $gpus) |
    trimPrefix "\n" }}
{{- . | nindent 0 }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- if $locked }}
initContainers:
{{- range $name, $storage := $locked }}
- name: {{ printf "lock-%v" $name | quote }}
  {{- include "seed-eci-imagenet.pod.runLock" (dict "root" $.root "values" $.values "name" $name "storage" $storage) |
      nindent 2 }}
{{- end }}
{{- end }}
containers:
- name: tensorflow
  image: {{ .values.image | default .root.Values.image | quote }}
  {{- if .values.imagePullPolicy | default .root.Values.imagePullPolicy }}
  imagePullPolicy: {{ .values.imagePullPolicy | default .root.Values.imagePullPolicy | quote }}
  {{- end }}
  {{- with .values.command | default .root.Values.command }}
  command:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .values.args | default .root.Values.args }}
  args:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if .values.workingDir | default .root.Values.workingDir }}
  workingDir: {{ .values.workingDir | default .root.Values.workingDir | quote }}
  {{- end }}
  {{- /* Kubernetes expands $(X) from the variables before it alone: first our own, then the values that refer to
         none. */}}
  env:
  {{- include "seed-eci-imagenet.pod.env" (dict "root" .root "values" .values "cpuLimit" $limits.cpu "gpus" $gpus) |
      nindent 2 }}
  {{- with .values.envFrom | default .root.Values.envFrom }}
  envFrom:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  ports:
  - name: tensorflow
    containerPort: 2222
  {{- with include "seed-eci-imagenet.pod.resources" (dict "values" .values "limits" $limits) | trimPrefix "\n" }}
  resources:
    {{- . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "seed-eci-imagenet.containerSecurityContext" .root | nindent 4 }}
  volumeMounts:
  {{- include "seed-eci-imagenet.pod.mounts" . | nindent 2 }}
volumes:
{{- include "seed-eci-imagenet.pod.volumes" (dict "root" .root "role" .role "values" .values "locked" $locked) | nindent
    0 }}
{{- end }}

{{/* The resources of a task's main container. Takes values, limits. */}}
{{- define "seed-eci-imagenet.pod.resources" -}}
{{- $requests := dict }}
{{- if .values.resources.cpu }}
{{- $_ := set $requests "cpu" (toString .values.resources.cpu) }}
{{- end }}
{{- if .values.resources.memory }}
{{- $_ := set $requests "memory" (toString .values.resources.memory) }}
{{- end }}
{{- $requests = mergeOverwrite $requests .values.resources.requests -}}
{{- with $requests }}
requests:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .limits }}
limits:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

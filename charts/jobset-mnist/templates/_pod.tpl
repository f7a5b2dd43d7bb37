{{/*
The pod of a task, whatever object makes it. The role's templates call it with the role's name and values.

  jobset-mnist.pod
  jobset-mnist.pod.labels
  jobset-mnist.pod.annotations
  jobset-mnist.pod.spec
  jobset-mnist.pod.resources
*/}}
{{/* The pod of a task: a PodTemplateSpec, whatever object makes it. Takes root, role, values. */}}
{{- define "jobset-mnist.pod" -}}
metadata:
  labels:
    {{- include "jobset-mnist.pod.labels" . | nindent 4 }}
  {{- with include "jobset-mnist.pod.annotations" . | trimPrefix "\n" }}
  annotations:
    {{- . | nindent 4 }}
  {{- end }}
spec:
  {{- include "jobset-mnist.pod.spec" . | trimPrefix "\n" | nindent 2 }}
{{- end }}

{{/* The labels of a task's pod. Takes root, role, values. */}}
{{- define "jobset-mnist.pod.labels" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") .root.Values.labels .values.labels -}}
{{ include "jobset-mnist.selector" .root }}
tfgen/role: {{ .role | quote }}
app.kubernetes.io/name: {{ include "jobset-mnist.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role | quote }}
{{- with $labels }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The annotations of a task's pod. Takes root, values. */}}
{{- define "jobset-mnist.pod.annotations" -}}
{{- $annotations := mergeOverwrite
      (dict "cluster-autoscaler.kubernetes.io/safe-to-evict" "false" "karpenter.sh/do-not-disrupt" "true" "linkerd.io/inject" "disabled")
      .root.Values.annotations
      .values.annotations -}}
{{- if .root.Values.gang.enabled }}
{{- if .root.Values.gang.requiredTopology }}
kueue.x-k8s.io/podset-required-topology: {{ .root.Values.gang.requiredTopology | quote }}
{{- end }}
{{- if .root.Values.gang.preferredTopology }}
kueue.x-k8s.io/podset-preferred-topology: {{ .root.Values.gang.preferredTopology | quote }}
{{- end }}
{{- end }}
{{- with $annotations }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The spec of a task's pod. Takes root, role, values. */}}
{{- define "jobset-mnist.pod.spec" -}}
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
{{- if and .root.Values.gang.enabled .root.Values.gang.schedulerName }}
schedulerName: {{ .root.Values.gang.schedulerName | quote }}
{{- end }}
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
restartPolicy: Never
{{- if eq .role "chief" }}
{{- if .root.Values.deadline }}
{{- if $locked }}
activeDeadlineSeconds: {{ add .root.Values.deadline .root.Values.lockWait }}
{{- else }}
activeDeadlineSeconds: {{ .root.Values.deadline | int64 }}
{{- end }}
{{- end }}
{{- end }}
{{- /* TensorFlow's Server.join ignores SIGTERM: a task that only serves is waited for in vain. */}}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds | default (ternary 30 5 (eq .role "chief")) |
    int64 }}
securityContext:
  {{- include "jobset-mnist.podSecurityContext" .root | nindent 2 }}
{{- with include "jobset-mnist.pod.scheduling" (dict "root" .root "role" .role "values" .values "gpus" $gpus) |
    trimPrefix "\n" }}
{{- . | nindent 0 }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- if eq .role "chief" }}
{{- if $locked }}
initContainers:
{{- range $name, $storage := $locked }}
- name: {{ printf "lock-%v" $name | quote }}
  {{- include "jobset-mnist.pod.runLock" (dict "root" $.root "values" $.values "name" $name "storage" $storage) |
      nindent 2 }}
{{- end }}
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
  {{- include "jobset-mnist.pod.env" (dict "root" .root "role" .role "values" .values "cpuLimit" $limits.cpu "gpus"
      $gpus) | nindent 2 }}
  {{- with .values.envFrom | default .root.Values.envFrom }}
  envFrom:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  ports:
  - name: tensorflow
    containerPort: 2222
  {{- with include "jobset-mnist.pod.resources" (dict "values" .values "limits" $limits) | trimPrefix "\n" }}
  resources:
    {{- . | nindent 4 }}
  {{- end }}
  {{- if eq .role "ps" "worker" }}
  readinessProbe:
    tcpSocket:
      port: tensorflow
  {{- end }}
  securityContext:
    {{- include "jobset-mnist.containerSecurityContext" .root | nindent 4 }}
  volumeMounts:
  {{- include "jobset-mnist.pod.mounts" . | nindent 2 }}
volumes:
{{- include "jobset-mnist.pod.volumes" (dict "root" .root "role" .role "values" .values "locked" $locked) | nindent 0 }}
{{- end }}

{{/* The resources of a task's main container. Takes values, limits. */}}
{{- define "jobset-mnist.pod.resources" -}}
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

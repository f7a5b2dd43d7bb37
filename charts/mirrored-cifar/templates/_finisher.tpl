{{/*
The pod of what releases the run once the Job that ends it has ended.

  mirrored-cifar.finisher.podHash
  mirrored-cifar.finisher.pod
*/}}
{{/* The hash of finisher.pod, a label of its pods. A StatefulSet has it in its selector too, which never changes. */}}
{{- define "mirrored-cifar.finisher.podHash" -}}
{{ printf "%s\n" (include "mirrored-cifar.finisher.pod" (dict "root" $)) | fromYaml | mustToRawJson | sha256sum | trunc
    12 }}
{{- end }}

{{/* The pod of the finisher. Takes root, hash. */}}
{{- define "mirrored-cifar.finisher.pod" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") .root.Values.labels }}
{{- $annotations := mergeOverwrite (dict "linkerd.io/inject" "disabled") .root.Values.annotations -}}
metadata:
  labels:
    {{- include "mirrored-cifar.selector" .root | nindent 4 }}
    tfgen/role: finisher
    app.kubernetes.io/name: {{ include "mirrored-cifar.name" .root | quote }}
    app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
    app.kubernetes.io/component: finisher
    {{- with $labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if .hash }}
    tfgen/pod-template-hash: {{ .hash | quote }}
    {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if .root.Values.priorityClassName }}
  priorityClassName: {{ .root.Values.priorityClassName | quote }}
  {{- end }}
  serviceAccountName: {{ include "mirrored-cifar.run" .root }}-finisher
  automountServiceAccountToken: true
  {{- /* No variables for the Services of the namespace: many of them can fill a container's environment. */}}
  enableServiceLinks: false
  restartPolicy: Never
  securityContext:
    {{- include "mirrored-cifar.podSecurityContext" .root | nindent 4 }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "mirrored-cifar.tolerations" (dict "spot" .root.Values.spot "tolerations" .root.Values.tolerations) |
      trimPrefix "\n" }}
  tolerations:
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  containers:
  - name: finisher
    {{- if .root.Values.completion.image }}
    image: {{ .root.Values.completion.image | quote }}
    {{- else if .root.Values.roles.worker.image | default .root.Values.image }}
    image: {{ .root.Values.roles.worker.image | default .root.Values.image | quote }}
    {{- end }}
    {{- if .root.Values.completion.image }}
    {{- if .root.Values.imagePullPolicy }}
    imagePullPolicy: {{ .root.Values.imagePullPolicy | quote }}
    {{- end }}
    {{- else if .root.Values.roles.worker.imagePullPolicy | default .root.Values.imagePullPolicy }}
    imagePullPolicy: {{ .root.Values.roles.worker.imagePullPolicy | default .root.Values.imagePullPolicy | quote }}
    {{- end }}
    {{- /* Isolated: no variable and no module of the image comes between the program and its library. */}}
    command:
    - python3
    - -I
    - -u
    - /finisher/finisher.py
    args:
    - {{ printf "--ends=%v-worker" (include "mirrored-cifar.run" .root) | quote }}
    {{- if and .root.Values.tensorboard.enabled (not .root.Values.tensorboard.keep) }}
    - {{ printf "--scale=deployments/%v-tensorboard" (include "mirrored-cifar.fullname" .root) | quote }}
    {{- end }}
    - {{ printf "--on-failure=%v" .root.Values.completion.onFailure | quote }}
    {{- if .root.Values.startDeadline }}
    - {{ printf "--starts=jobs/%v-worker" (include "mirrored-cifar.run" .root) | quote }}
    - --start-deadline={{ .root.Values.startDeadline | int64 }}
    {{- end }}
    {{- if .root.Values.completion.notify.secretKeyRef.name }}
    - --job={{ include "mirrored-cifar.fullname" .root }}
    - {{ printf "--run=%v" .root.Values.run | quote }}
    {{- end }}
    env:
    - name: NVIDIA_VISIBLE_DEVICES
      value: void
    {{- if .root.Values.completion.notify.secretKeyRef.name }}
    - name: NOTIFY_ADDRESS
      valueFrom:
        secretKeyRef:
          name: {{ .root.Values.completion.notify.secretKeyRef.name | quote }}
          key: {{ .root.Values.completion.notify.secretKeyRef.key | quote }}
          {{- /* Without the Secret all is released, and nobody is told. */}}
          optional: true
    {{- end }}
    resources:
      requests:
        cpu: {{ .root.Values.helpers.resources.requests.cpu | quote }}
        memory: {{ .root.Values.helpers.resources.requests.memory | quote }}
      limits:
        cpu: {{ .root.Values.helpers.resources.limits.cpu | quote }}
        memory: {{ .root.Values.helpers.resources.limits.memory | quote }}
    securityContext:
      {{- include "mirrored-cifar.containerSecurityContext" .root | nindent 6 }}
    volumeMounts:
    - name: finisher
      mountPath: /finisher
      readOnly: true
  volumes:
  - name: finisher
    configMap:
      name: {{ include "mirrored-cifar.run" .root }}-finisher-b27e5a92
{{- end }}

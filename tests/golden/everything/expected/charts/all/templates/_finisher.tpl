{{- /* The pod of the finisher, which releases the tasks when the training ends. */}}

{{/* The hash of finisher.pod, for a label of the pods and for the immutable selector of a StatefulSet. */}}
{{- define "all.finisher.podHash" -}}
{{ printf "%s\n" (include "all.finisher.pod" (dict "root" $)) | fromYaml | mustToRawJson | sha256sum | trunc 12 }}
{{- end }}

{{/* The pod of the finisher. Takes root, hash. */}}
{{- define "all.finisher.pod" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") (include "all.texts" .root.Values.labels | fromYaml) }}
{{- $annotations := mergeOverwrite (dict "linkerd.io/inject" "disabled") (include "all.texts" .root.Values.annotations | fromYaml) -}}
metadata:
  labels:
    {{- include "all.selector" .root | nindent 4 }}
    tfgen/role: finisher
    app.kubernetes.io/name: {{ include "all.name" .root | quote }}
    app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
    app.kubernetes.io/component: finisher
    {{- toYaml $labels | nindent 4 }}
    {{- /* The hash of this pod template. A change of the template needs a new run. */}}
    {{- with .hash }}
    tfgen/pod-template-hash: {{ . | quote }}
    {{- end }}
  annotations:
    {{- toYaml $annotations | nindent 4 }}
spec:
  {{- include "all.finisher.podSpec" .root | nindent 2 }}
{{- end }}

{{/* The spec of the finisher's pod. */}}
{{- define "all.finisher.podSpec" -}}
{{- $run := include "all.run" . -}}
serviceAccountName: {{ $run }}-finisher
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
automountServiceAccountToken: true
{{- /* No environment variables for Services: the variables of many Services can exceed the size limit of a
       process. */}}
enableServiceLinks: false
restartPolicy: Never
{{- if not .Values.security.hostUsers }}
hostUsers: false
{{- end }}
securityContext:
  {{- include "all.podSecurityContext" . | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- include "all.texts" . | trimPrefix "\n" | nindent 2 }}
{{- end }}
{{- with include "all.tolerations" (dict "spot" .Values.spot "tolerations" .Values.tolerations) }}
tolerations:
{{- . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
volumes:
- name: finisher
  configMap:
    name: {{ $run }}-finisher-fec81504
containers:
- name: finisher
  {{- if .Values.completion.image }}
  image: {{ .Values.completion.image | quote }}
  {{- with .Values.imagePullPolicy }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  {{- else if and .Values.startDeadline (ne (dig "image" .Values.image .Values.roles.ps) (dig "image" .Values.image .Values.roles.chief))
      (ne (dig "image" .Values.image .Values.roles.worker) (dig "image" .Values.image .Values.roles.chief))
      (ne (dig "image" .Values.image .Values.roles.evaluator) (dig "image" .Values.image .Values.roles.chief)) }}
  image: {{ dig "image" .Values.image .Values.roles.ps | quote }}
  {{- with dig "imagePullPolicy" .Values.imagePullPolicy .Values.roles.ps }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  {{- else }}
  image: {{ dig "image" .Values.image .Values.roles.chief | quote }}
  {{- with dig "imagePullPolicy" .Values.imagePullPolicy .Values.roles.chief }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- /* Option -I isolates Python: PYTHON* variables of the image and modules of the user have no effect. */}}
  command:
  - python3
  - -I
  - -u
  - /finisher/finisher.py
  args:
  - {{ printf "--ends=%v-chief" $run | quote }}
  - {{ printf "--scale=statefulsets/%v-ps" $run | quote }}
  - {{ printf "--scale=statefulsets/%v-worker" $run | quote }}
  {{- if and .Values.tensorboard.enabled (not .Values.tensorboard.keep) }}
  - {{ printf "--scale=deployments/%v-tensorboard" (include "all.fullname" .) | quote }}
  {{- end }}
  - {{ printf "--suspend=%v-evaluator" $run | quote }}
  - {{ printf "--grace-for=%v-evaluator=%d" $run (int64 .Values.completion.evaluatorGrace) | quote }}
  - {{ printf "--on-failure=%v" .Values.completion.onFailure | quote }}
  {{- if .Values.startDeadline }}
  - {{ printf "--starts=jobs/%v-chief" $run | quote }}
  - {{ printf "--starts=statefulsets/%v-ps" $run | quote }}
  - {{ printf "--starts=statefulsets/%v-worker" $run | quote }}
  {{- end }}
  {{- if and .Values.startDeadline .Values.gang.enabled .Values.gang.minAvailable
      (gt (add 1 .Values.roles.ps.replicas .Values.roles.worker.replicas) (int64 .Values.gang.minAvailable)) }}
  - --start-with={{ .Values.gang.minAvailable | int64 }}
  {{- end }}
  {{- with .Values.startDeadline }}
  - --start-deadline={{ . | int64 }}
  {{- end }}
  {{- if .Values.completion.notify.secretKeyRef.name }}
  - --job={{ include "all.fullname" . }}
  - {{ printf "--run=%v" (include "all.text" .Values.run) | quote }}
  {{- end }}
  env:
  - name: NVIDIA_VISIBLE_DEVICES
    {{- /* An image for GPUs sets the value all. The value void hides the GPUs of the node. */}}
    value: void
  {{- if .Values.completion.notify.secretKeyRef.name }}
  - name: NOTIFY_ADDRESS
    valueFrom:
      secretKeyRef:
        name: {{ .Values.completion.notify.secretKeyRef.name | quote }}
        key: {{ .Values.completion.notify.secretKeyRef.key | quote }}
        {{- /* Without the Secret the finisher releases the tasks and sends no notification. */}}
        optional: true
  {{- end }}
  resources:
    requests:
      cpu: {{ .Values.helpers.resources.requests.cpu | quote }}
      memory: {{ .Values.helpers.resources.requests.memory | quote }}
    limits:
      cpu: {{ .Values.helpers.resources.limits.cpu | quote }}
      memory: {{ .Values.helpers.resources.limits.memory | quote }}
  securityContext:
    {{- include "all.containerSecurityContext" . | nindent 4 }}
  volumeMounts:
  - name: finisher
    mountPath: /finisher
    readOnly: true
{{- end }}

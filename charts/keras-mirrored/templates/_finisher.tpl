{{- /* The pod of the finisher, which releases the tasks when the training ends. */}}

{{/* The hash of finisher.pod, for a label of the pods and for the immutable selector of a StatefulSet. */}}
{{- define "keras-mirrored.finisher.podHash" -}}
{{ printf "%s\n" (include "keras-mirrored.finisher.pod" (dict "root" $)) | fromYaml | mustToRawJson | sha256sum | trunc 12 }}
{{- end }}

{{/* The pod of the finisher. Takes root, hash. */}}
{{- define "keras-mirrored.finisher.pod" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") (include "keras-mirrored.texts" .root.Values.labels | fromYaml) }}
{{- $annotations := mergeOverwrite (dict "linkerd.io/inject" "disabled")
    (include "keras-mirrored.texts" .root.Values.annotations | fromYaml) -}}
metadata:
  labels:
    {{- include "keras-mirrored.selector" .root | nindent 4 }}
    tfgen/role: finisher
    app.kubernetes.io/name: {{ include "keras-mirrored.name" .root | quote }}
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
  {{- include "keras-mirrored.finisher.podSpec" .root | nindent 2 }}
{{- end }}

{{/* The spec of the finisher's pod. */}}
{{- define "keras-mirrored.finisher.podSpec" -}}
{{- $run := include "keras-mirrored.run" . -}}
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
  {{- include "keras-mirrored.podSecurityContext" . | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- include "keras-mirrored.texts" . | trimPrefix "\n" | nindent 2 }}
{{- end }}
{{- with include "keras-mirrored.tolerations" (dict "spot" .Values.spot "tolerations" .Values.tolerations) }}
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
  {{- else }}
  image: {{ dig "image" .Values.image .Values.roles.worker | quote }}
  {{- with dig "imagePullPolicy" .Values.imagePullPolicy .Values.roles.worker }}
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
  - {{ printf "--ends=%v-worker" $run | quote }}
  {{- if .Values.startDeadline }}
  - {{ printf "--starts=jobs/%v-worker" $run | quote }}
  - --start-deadline={{ .Values.startDeadline | int64 }}
  {{- end }}
  {{- if .Values.completion.notify.secretKeyRef.name }}
  - --job={{ include "keras-mirrored.fullname" . }}
  - {{ printf "--run=%v" (include "keras-mirrored.text" .Values.run) | quote }}
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
    {{- include "keras-mirrored.containerSecurityContext" . | nindent 4 }}
  volumeMounts:
  - name: finisher
    mountPath: /finisher
    readOnly: true
{{- end }}

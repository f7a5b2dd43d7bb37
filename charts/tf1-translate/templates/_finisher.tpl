{{- /* The pod of the finisher, which releases the tasks when the training ends. */}}

{{/* The hash of finisher.pod, for a label of the pods and for the immutable selector of a StatefulSet. */}}
{{- define "tf1-translate.finisher.podHash" -}}
{{ printf "%s\n" (include "tf1-translate.finisher.pod" (dict "root" $)) | fromYaml | mustToRawJson | sha256sum | trunc 12 }}
{{- end }}

{{/* The pod of the finisher. Takes root, hash. */}}
{{- define "tf1-translate.finisher.pod" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") (include "tf1-translate.texts" .root.Values.labels | fromYaml) }}
{{- $annotations := mergeOverwrite (dict "linkerd.io/inject" "disabled")
    (include "tf1-translate.texts" .root.Values.annotations | fromYaml) -}}
metadata:
  labels:
    {{- include "tf1-translate.selector" .root | nindent 4 }}
    tfgen/role: finisher
    app.kubernetes.io/name: {{ include "tf1-translate.name" .root | quote }}
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
  {{- include "tf1-translate.finisher.podSpec" .root | nindent 2 }}
{{- end }}

{{/* The spec of the finisher's pod. */}}
{{- define "tf1-translate.finisher.podSpec" -}}
{{- $run := include "tf1-translate.run" . -}}
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
  {{- include "tf1-translate.podSecurityContext" . | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- include "tf1-translate.texts" . | trimPrefix "\n" | nindent 2 }}
{{- end }}
{{- with include "tf1-translate.tolerations" (dict "spot" .Values.spot "tolerations" .Values.tolerations) }}
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
  {{- else if and .Values.startDeadline (ne (dig "image" .Values.image .Values.roles.ps)
      (dig "image" .Values.image .Values.roles.worker)) }}
  image: {{ dig "image" .Values.image .Values.roles.ps | quote }}
  {{- with dig "imagePullPolicy" .Values.imagePullPolicy .Values.roles.ps }}
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
  - {{ printf "--scale=statefulsets/%v-ps" $run | quote }}
  - {{ printf "--on-failure=%v" .Values.completion.onFailure | quote }}
  {{- if .Values.startDeadline }}
  - {{ printf "--starts=statefulsets/%v-ps" $run | quote }}
  - {{ printf "--starts=jobs/%v-worker" $run | quote }}
  - --start-deadline={{ .Values.startDeadline | int64 }}
  {{- end }}
  {{- if .Values.completion.notify.secretKeyRef.name }}
  - --job={{ include "tf1-translate.fullname" . }}
  - {{ printf "--run=%v" (include "tf1-translate.text" .Values.run) | quote }}
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
    {{- include "tf1-translate.containerSecurityContext" . | nindent 4 }}
  volumeMounts:
  - name: finisher
    mountPath: /finisher
    readOnly: true
{{- end }}

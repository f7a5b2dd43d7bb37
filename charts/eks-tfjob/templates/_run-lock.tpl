{{- /* The containers that keep two runs from writing to one folder at the same time. */}}

{{/* The sidecar that holds the run lock of a volume. The caller sets the name of the sidecar. Takes root, values,
     name, storage. */}}
{{- define "eks-tfjob.pod.runLock" -}}
image: {{ dig "image" .root.Values.image .values | quote }}
{{- with dig "imagePullPolicy" .root.Values.imagePullPolicy .values }}
imagePullPolicy: {{ . | quote }}
{{- end }}
restartPolicy: Always
command:
- python3
- -I
- /run-lock/run_lock.py
- /volume
- {{ printf "/tmp/.tfgen-lock-%v" .name | quote }}
env:
- name: TASK_INDEX
  valueFrom:
    fieldRef:
      fieldPath: metadata.labels['training.kubeflow.org/replica-index']
- name: TFGEN_RUN
  value: {{ include "eks-tfjob.text" .root.Values.run | quote }}
- name: TFGEN_RUN_FOLDER
  value: {{ include "eks-tfjob.text" .root.Values.resumeFrom | default (include "eks-tfjob.text" .root.Values.run | default "1") | quote }}
- name: NVIDIA_VISIBLE_DEVICES
  {{- /* An image for GPUs sets the value all. The value void hides the GPUs of the node. */}}
  value: void
resources:
  requests:
    cpu: {{ .root.Values.helpers.resources.requests.cpu | quote }}
    memory: {{ .root.Values.helpers.resources.requests.memory | quote }}
  limits:
    cpu: {{ .root.Values.helpers.resources.limits.cpu | quote }}
    memory: {{ .root.Values.helpers.resources.limits.memory | quote }}
startupProbe:
  exec:
    command:
    - test
    - -e
    - {{ printf "/tmp/.tfgen-lock-%v" .name | quote }}
  periodSeconds: 1
  failureThreshold: 1000000
securityContext:
  {{- include "eks-tfjob.containerSecurityContext" .root | nindent 2 }}
volumeMounts:
- name: tmp
  mountPath: /tmp
- name: tfgen-run-lock
  mountPath: /run-lock
  readOnly: true
- name: {{ .name | quote }}
  {{- include "eks-tfjob.mount" (dict "storage" .storage "mountPath" "/volume") | nindent 2 }}
{{- end }}

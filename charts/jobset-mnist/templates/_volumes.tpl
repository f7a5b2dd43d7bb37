{{- /* The volumes of a pod and their mounts. */}}

{{/* The volumes of a task's pod. Takes root, role, values, locked. */}}
{{- define "jobset-mnist.pod.volumes" -}}
- name: tmp
  emptyDir: {}
{{- with dig "shm" .root.Values.shm .values }}
- name: shm
  emptyDir:
    medium: Memory
    sizeLimit: {{ . | quote }}
{{- end }}
{{- range $name, $storage := .root.Values.storage }}
{{- if or (not $storage.for) (has $.role $storage.for) }}
- name: {{ $name | quote }}
  {{- include "jobset-mnist.volumeSource" (dict "root" $.root "name" $name "storage" $storage) | nindent 2 }}
{{- end }}
{{- end }}
{{- if and (eq .role "chief") .locked }}
- name: tfgen-run-lock
  configMap:
    name: {{ include "jobset-mnist.run" .root }}-run-lock-0bc3efb4
{{- end }}
{{- end }}

{{/* The source of a volume. A volume without a source is an emptyDir. Takes root, name, storage. */}}
{{- define "jobset-mnist.volumeSource" -}}
{{- if .storage.claim -}}
persistentVolumeClaim:
  claimName: {{ include "jobset-mnist.claimName" . | quote }}
{{- else if .storage.configMap -}}
configMap:
  {{- toYaml .storage.configMap | nindent 2 }}
{{- else if .storage.secret -}}
secret:
  {{- toYaml .storage.secret | nindent 2 }}
{{- else if .storage.csi -}}
csi:
  {{- toYaml .storage.csi | nindent 2 }}
{{- else if .storage.image -}}
image:
  {{- toYaml .storage.image | nindent 2 }}
{{- else if .storage.projected -}}
projected:
  {{- toYaml .storage.projected | nindent 2 }}
{{- else if .storage.emptyDir -}}
emptyDir:
  {{- toYaml .storage.emptyDir | nindent 2 }}
{{- else -}}
emptyDir: {}
{{- end }}
{{- end }}

{{/* The name of the claim of a volume: claim.name, or the claim that the chart creates. Takes root, name,
     storage. */}}
{{- define "jobset-mnist.claimName" -}}
{{- if .storage.claim.name -}}
{{ .storage.claim.name }}
{{- else -}}
{{ include "jobset-mnist.fullname" .root }}-{{ .name }}
{{- end }}
{{- end }}

{{/* The mount path and the folder of a volume. With runs: Separate, each run has a subfolder. Takes storage,
     mountPath. */}}
{{- define "jobset-mnist.mount" -}}
mountPath: {{ .mountPath | quote }}
{{- if and .storage.subPath (ne (.storage.runs | default "") "Separate") }}
subPath: {{ .storage.subPath | quote }}
{{- end }}
{{- if eq (.storage.runs | default "") "Separate" }}
{{- if .storage.subPath | default .storage.subPathExpr }}
subPathExpr: {{ printf "%v/$(TFGEN_RUN_FOLDER)" (.storage.subPath | default .storage.subPathExpr) | quote }}
{{- else }}
subPathExpr: $(TFGEN_RUN_FOLDER)
{{- end }}
{{- else if .storage.subPathExpr }}
subPathExpr: {{ .storage.subPathExpr | quote }}
{{- end }}
{{- end }}

{{/* The mounts of a task's main container. Takes root, role, values. */}}
{{- define "jobset-mnist.pod.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if dig "shm" .root.Values.shm .values }}
- name: shm
  mountPath: /dev/shm
{{- end }}
{{- range $name, $storage := .root.Values.storage }}
{{- if or (not $storage.for) (has $.role $storage.for) }}
- name: {{ $name | quote }}
  {{- include "jobset-mnist.mount" (dict "storage" $storage "mountPath" $storage.mountPath) | nindent 2 }}
  {{- if $storage.readOnly }}
  readOnly: true
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

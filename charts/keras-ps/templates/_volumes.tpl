{{- /* The volumes of a pod and their mounts. */}}

{{/* The volumes of a task's pod. Takes root, role, values, locked. */}}
{{- define "keras-ps.pod.volumes" -}}
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
  {{- include "keras-ps.volumeSource" (dict "root" $.root "name" $name "storage" $storage) | nindent 2 }}
{{- end }}
{{- end }}
{{- if and (eq .role "chief") .locked }}
- name: tfgen-run-lock
  configMap:
    name: {{ include "keras-ps.run" .root }}-run-lock-0bc3efb4
{{- end }}
{{- end }}

{{/* The source of a volume. A volume without a source is an emptyDir. Takes root, name, storage. */}}
{{- define "keras-ps.volumeSource" -}}
{{- if .storage.claim -}}
persistentVolumeClaim:
  claimName: {{ include "keras-ps.claimName" . | quote }}
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
{{- define "keras-ps.claimName" -}}
{{- if .storage.claim.name -}}
{{ .storage.claim.name }}
{{- else -}}
{{ include "keras-ps.fullname" .root }}-{{ .name }}
{{- end }}
{{- end }}

{{/* The mount path and the folder of a volume. With runs: Separate, each run has a subfolder. Takes storage,
     mountPath. */}}
{{- define "keras-ps.mount" -}}
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
{{- define "keras-ps.pod.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if dig "shm" .root.Values.shm .values }}
- name: shm
  mountPath: /dev/shm
{{- end }}
{{- range $name, $storage := .root.Values.storage }}
{{- if or (not $storage.for) (has $.role $storage.for) }}
- name: {{ $name | quote }}
  {{- include "keras-ps.mount" (dict "storage" $storage "mountPath" $storage.mountPath) | nindent 2 }}
  {{- if $storage.readOnly }}
  readOnly: true
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Volumes, and where a pod has them.

  seed-volcano-tfjob.subPath
  seed-volcano-tfjob.pod.mounts
  seed-volcano-tfjob.pod.volumes
  seed-volcano-tfjob.volumeSource
*/}}
{{/* The folder of a volume that a pod sees: with runs: Separate, the run's own within the one that is said. Takes
     storage. */}}
{{- define "seed-volcano-tfjob.subPath" -}}
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
{{- define "seed-volcano-tfjob.pod.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .values.shm | default .root.Values.shm }}
- name: shm
  mountPath: /dev/shm
{{- end }}
{{- range $name, $storage := .root.Values.storage }}
{{- if or (not $storage.for) (has $.role $storage.for) }}
- name: {{ $name | quote }}
  mountPath: {{ $storage.mountPath | quote }}
  {{- with include "seed-volcano-tfjob.subPath" (dict "storage" $storage) | trimPrefix "\n" }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- if $storage.readOnly }}
  readOnly: true
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The volumes of a task's pod. Takes root, role, values, locked. */}}
{{- define "seed-volcano-tfjob.pod.volumes" -}}
- name: tmp
  emptyDir: {}
{{- if .values.shm | default .root.Values.shm }}
- name: shm
  emptyDir:
    medium: Memory
    sizeLimit: {{ .values.shm | default .root.Values.shm | quote }}
{{- end }}
{{- range $name, $storage := .root.Values.storage }}
{{- if or (not $storage.for) (has $.role $storage.for) }}
- name: {{ $name | quote }}
  {{- with include "seed-volcano-tfjob.volumeSource" (dict "root" $.root "name" $name "storage" $storage) | trimPrefix
      "\n" }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}
{{- if eq .role "worker" }}
{{- if .locked }}
- name: tfgen-run-lock
  configMap:
    name: {{ include "seed-volcano-tfjob.run" .root }}-run-lock-819d5807
{{- end }}
{{- end }}
{{- end }}

{{/* The source of a volume: an emptyDir where its entry of storage has no other. Takes root, name, storage. */}}
{{- define "seed-volcano-tfjob.volumeSource" -}}
{{- if .storage.claim }}
persistentVolumeClaim:
  {{- if .storage.claim.name }}
  claimName: {{ .storage.claim.name | quote }}
  {{- else }}
  claimName: {{ printf "%v-%v" (include "seed-volcano-tfjob.fullname" .root) .name | quote }}
  {{- end }}
{{- else if .storage.configMap }}
configMap:
  {{- toYaml .storage.configMap | nindent 2 }}
{{- else if .storage.secret }}
secret:
  {{- toYaml .storage.secret | nindent 2 }}
{{- else if .storage.csi }}
csi:
  {{- toYaml .storage.csi | nindent 2 }}
{{- else if .storage.projected }}
projected:
  {{- toYaml .storage.projected | nindent 2 }}
{{- else if .storage.emptyDir }}
emptyDir:
  {{- toYaml .storage.emptyDir | nindent 2 }}
{{- else }}
emptyDir: {}
{{- end }}
{{- end }}

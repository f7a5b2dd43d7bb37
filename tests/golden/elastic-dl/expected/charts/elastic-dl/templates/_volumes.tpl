{{/*
Volumes, and where a pod has them.

  elastic-dl.volumeSource
*/}}
{{/* The source of a volume: an emptyDir where its entry of storage has no other. Takes root, name, storage. */}}
{{- define "elastic-dl.volumeSource" -}}
{{- if .storage.claim }}
persistentVolumeClaim:
  {{- if .storage.claim.name }}
  claimName: {{ .storage.claim.name | quote }}
  {{- else }}
  claimName: {{ printf "%v-%v" (include "elastic-dl.fullname" .root) .name | quote }}
  {{- end }}
{{- else if .storage.nfs }}
nfs:
  {{- mustToYaml .storage.nfs | nindent 2 }}
{{- else if .storage.hostPath }}
hostPath:
  {{- mustToYaml .storage.hostPath | nindent 2 }}
{{- else if .storage.configMap }}
configMap:
  {{- mustToYaml .storage.configMap | nindent 2 }}
{{- else if .storage.secret }}
secret:
  {{- mustToYaml .storage.secret | nindent 2 }}
{{- else if .storage.azureFile }}
azureFile:
  {{- mustToYaml .storage.azureFile | nindent 2 }}
{{- else if .storage.csi }}
csi:
  {{- mustToYaml .storage.csi | nindent 2 }}
{{- else if .storage.flexVolume }}
flexVolume:
  {{- mustToYaml .storage.flexVolume | nindent 2 }}
{{- else if .storage.projected }}
projected:
  {{- mustToYaml .storage.projected | nindent 2 }}
{{- else if .storage.emptyDir }}
emptyDir:
  {{- mustToYaml .storage.emptyDir | nindent 2 }}
{{- else }}
emptyDir: {}
{{- end }}
{{- end }}

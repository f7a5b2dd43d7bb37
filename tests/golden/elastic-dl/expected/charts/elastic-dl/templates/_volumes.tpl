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
  {{- toYaml .storage.nfs | nindent 2 }}
{{- else if .storage.hostPath }}
hostPath:
  {{- toYaml .storage.hostPath | nindent 2 }}
{{- else if .storage.configMap }}
configMap:
  {{- toYaml .storage.configMap | nindent 2 }}
{{- else if .storage.secret }}
secret:
  {{- toYaml .storage.secret | nindent 2 }}
{{- else if .storage.azureFile }}
azureFile:
  {{- toYaml .storage.azureFile | nindent 2 }}
{{- else if .storage.csi }}
csi:
  {{- toYaml .storage.csi | nindent 2 }}
{{- else if .storage.flexVolume }}
flexVolume:
  {{- toYaml .storage.flexVolume | nindent 2 }}
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

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
{{- else if .storage.hostPath }}
hostPath:
  {{- toYaml .storage.hostPath | nindent 2 }}
{{- else if .storage.emptyDir }}
emptyDir:
  {{- toYaml .storage.emptyDir | nindent 2 }}
{{- else }}
emptyDir: {}
{{- end }}
{{- end }}

{{/*
Volumes, and where a pod has them.

  seed-elasticdl-mnist.volumeSource
*/}}
{{/* The source of a volume: an emptyDir where its entry of storage has no other. Takes root, name, storage. */}}
{{- define "seed-elasticdl-mnist.volumeSource" -}}
{{- if .storage.claim }}
persistentVolumeClaim:
  {{- if .storage.claim.name }}
  claimName: {{ .storage.claim.name | quote }}
  {{- else }}
  claimName: {{ printf "%v-%v" (include "seed-elasticdl-mnist.fullname" .root) .name | quote }}
  {{- end }}
{{- else if .storage.emptyDir }}
emptyDir:
  {{- toYaml .storage.emptyDir | nindent 2 }}
{{- else }}
emptyDir: {}
{{- end }}
{{- end }}

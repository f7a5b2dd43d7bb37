{{- /* Volumes, and where a pod has them. */}}

{{/* The source of a volume: an emptyDir where its entry of storage has no other. Takes root, name, storage. */}}
{{- define "seed-elasticdl-mnist.volumeSource" -}}
{{- if .storage.claim -}}
persistentVolumeClaim:
  claimName: {{ include "seed-elasticdl-mnist.claimName" . | quote }}
{{- else if .storage.emptyDir -}}
emptyDir:
  {{- toYaml .storage.emptyDir | nindent 2 }}
{{- else -}}
emptyDir: {}
{{- end }}
{{- end }}

{{/* The claim of a volume: an existing one, or the one that the chart makes. Takes root, name, storage. */}}
{{- define "seed-elasticdl-mnist.claimName" -}}
{{- if .storage.claim.name -}}
{{ .storage.claim.name }}
{{- else -}}
{{ include "seed-elasticdl-mnist.fullname" .root }}-{{ .name }}
{{- end }}
{{- end }}

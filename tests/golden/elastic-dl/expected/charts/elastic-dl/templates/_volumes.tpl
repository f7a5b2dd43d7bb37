{{- /* Volumes, and where a pod has them. */}}

{{/* The source of a volume: an emptyDir where its entry of storage has no other. Takes root, name, storage. */}}
{{- define "elastic-dl.volumeSource" -}}
{{- if .storage.claim -}}
persistentVolumeClaim:
  claimName: {{ include "elastic-dl.claimName" . | quote }}
{{- else if .storage.hostPath -}}
hostPath:
  {{- toYaml .storage.hostPath | nindent 2 }}
{{- else if .storage.emptyDir -}}
emptyDir:
  {{- toYaml .storage.emptyDir | nindent 2 }}
{{- else -}}
emptyDir: {}
{{- end }}
{{- end }}

{{/* The claim of a volume: an existing one, or the one that the chart makes. Takes root, name, storage. */}}
{{- define "elastic-dl.claimName" -}}
{{- if .storage.claim.name -}}
{{ .storage.claim.name }}
{{- else -}}
{{ include "elastic-dl.fullname" .root }}-{{ .name }}
{{- end }}
{{- end }}

{{- /* The volumes of a pod and their mounts. */}}

{{/* The source of a volume. A volume without a source is an emptyDir. Takes root, name, storage. */}}
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

{{/* The name of the claim of a volume: claim.name, or the claim that the chart creates. Takes root, name,
     storage. */}}
{{- define "elastic-dl.claimName" -}}
{{- if .storage.claim.name -}}
{{ .storage.claim.name }}
{{- else -}}
{{ include "elastic-dl.fullname" .root }}-{{ .name }}
{{- end }}
{{- end }}

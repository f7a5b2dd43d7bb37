{{- /* The volumes of a pod and their mounts. */}}

{{/* The source of a volume. A volume without a source is an emptyDir. Takes root, name, storage. */}}
{{- define "elasticdl-mnist.volumeSource" -}}
{{- if .storage.claim -}}
persistentVolumeClaim:
  claimName: {{ include "elasticdl-mnist.claimName" . | quote }}
{{- else if .storage.emptyDir -}}
emptyDir:
  {{- toYaml .storage.emptyDir | nindent 2 }}
{{- else -}}
emptyDir: {}
{{- end }}
{{- end }}

{{/* The name of the claim of a volume: claim.name, or the claim that the chart creates. Takes root, name,
     storage. */}}
{{- define "elasticdl-mnist.claimName" -}}
{{- if .storage.claim.name -}}
{{ .storage.claim.name }}
{{- else -}}
{{ include "elasticdl-mnist.fullname" .root }}-{{ .name }}
{{- end }}
{{- end }}

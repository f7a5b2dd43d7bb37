{{- /* The condition under which an upgrade does not start the tasks of a finished run again. */}}

{{/* Non-empty text if the run in the cluster has ended and the object is released: with 0 replicas, suspended, or
     deleted after the end. Takes root, ends, kind, name. */}}
{{- define "tf1-translate.isReleased" -}}
{{- $job := lookup "batch/v1" "Job" .root.Release.Namespace .ends }}
{{- $object := lookup (ternary "batch/v1" "apps/v1" (eq .kind "Job")) .kind .root.Release.Namespace .name }}
{{- $ended := false }}
{{- range dig "status" "conditions" list $job }}
{{- if and (eq .type "Complete" "Failed") (eq .status "True") }}{{ $ended = true }}{{ end }}
{{- end }}
{{- $idle := or (dig "spec" "suspend" false $object) (eq 0 (int (dig "spec" "replicas" 1 $object))) }}
{{- if or (and $ended (not $object)) (and $idle (or $ended (dig "spec" "suspend" false $job))) }}true{{ end }}
{{- end }}

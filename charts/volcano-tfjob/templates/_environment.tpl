{{- /* The environment variables of a task. */}}

{{/* The variables of a task's main container. Takes root, values, cpuLimit, gpus. */}}
{{- define "volcano-tfjob.pod.env" -}}
{{- $env := dict "HOME" "/tmp" }}
{{- if not .gpus }}
{{- $_ := set $env "NVIDIA_VISIBLE_DEVICES" "void" }}
{{- end }}
{{- if .cpuLimit }}
{{- $_ := set $env "OMP_NUM_THREADS" (dict "resourceFieldRef" (dict "resource" "limits.cpu")) }}
{{- $_ := set $env "TF_NUM_INTEROP_THREADS" (dict "resourceFieldRef" (dict "resource" "limits.cpu")) }}
{{- $_ := set $env "TF_NUM_INTRAOP_THREADS" (dict "resourceFieldRef" (dict "resource" "limits.cpu")) }}
{{- end }}
{{- if and .cpuLimit (regexMatch "^(1|1000m|[0-9]{1,3}m|0?[.][0-9]+)$" (printf "%v" .cpuLimit)) }}
{{- $_ := set $env "TF_NUM_INTEROP_THREADS" "2" }}
{{- end }}
{{- range $key, $value := include "volcano-tfjob.texts" .root.Values.env | fromYaml }}
{{- $_ := set $env $key $value }}
{{- end }}
{{- range $key, $value := include "volcano-tfjob.texts" .values.env | fromYaml }}
{{- $_ := set $env $key $value }}
{{- end -}}
- name: TFGEN_RUN
  value: {{ include "volcano-tfjob.text" .root.Values.run | quote }}
- name: TFGEN_RUN_FOLDER
  value: {{ include "volcano-tfjob.text" .root.Values.resumeFrom | default (include "volcano-tfjob.text" .root.Values.run | default "1")
      | quote }}
{{- range $name, $value := $env }}
{{- if kindIs "map" $value }}
- name: {{ $name | quote }}
  valueFrom:
    {{- toYaml $value | nindent 4 }}
{{- else if not (contains "$(" $value) }}
- name: {{ $name | quote }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := $env }}
{{- if and (not (kindIs "map" $value)) (contains "$(" $value) }}
- name: {{ $name | quote }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

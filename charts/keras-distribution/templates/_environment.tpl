{{- /* The environment variables of a task. */}}

{{/* The variables of a task's main container. Takes root, values, cpuLimit, gpus. */}}
{{- define "keras-distribution.pod.env" -}}
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
{{- range $key, $value := include "keras-distribution.texts" .root.Values.env | fromYaml }}
{{- $_ := set $env $key $value }}
{{- end }}
{{- range $key, $value := include "keras-distribution.texts" .values.env | fromYaml }}
{{- $_ := set $env $key $value }}
{{- end -}}
- name: TASK_INDEX
  valueFrom:
    fieldRef:
      fieldPath: metadata.labels['batch.kubernetes.io/job-completion-index']
- name: KERAS_BACKEND
  value: jax
- name: KERAS_DISTRIBUTION_JOB_ADDRESSES
  valueFrom:
    configMapKeyRef:
      name: {{ include "keras-distribution.run" .root | quote }}
      key: workerHosts
- name: KERAS_DISTRIBUTION_NUM_PROCESSES
  value: '{{ .root.Values.roles.worker.replicas | int64 }}'
- name: KERAS_DISTRIBUTION_PROCESS_ID
  value: $(TASK_INDEX)
- name: TFGEN_RUN
  value: {{ include "keras-distribution.text" .root.Values.run | quote }}
- name: TFGEN_RUN_FOLDER
  value: {{ include "keras-distribution.text" .root.Values.resumeFrom | default
      (include "keras-distribution.text" .root.Values.run | default "1") | quote }}
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

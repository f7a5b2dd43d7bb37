{{- /* The environment variables of a task. */}}

{{/* The variables of a task's main container. Takes root, role, values, cpuLimit, gpus. */}}
{{- define "tf1-translate.pod.env" -}}
{{- $run := include "tf1-translate.run" .root }}
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
{{- range $key, $value := include "tf1-translate.texts" .root.Values.env | fromYaml }}
{{- $_ := set $env $key $value }}
{{- end }}
{{- range $key, $value := include "tf1-translate.texts" .values.env | fromYaml }}
{{- $_ := set $env $key $value }}
{{- end -}}
- name: TASK_INDEX
  valueFrom:
    fieldRef:
      {{- if eq .role "ps" }}
      fieldPath: metadata.labels['apps.kubernetes.io/pod-index']
      {{- else }}
      fieldPath: metadata.labels['batch.kubernetes.io/job-completion-index']
      {{- end }}
- name: TF_CLUSTER
  valueFrom:
    configMapKeyRef:
      name: {{ $run | quote }}
      key: cluster
- name: PS_HOSTS
  valueFrom:
    configMapKeyRef:
      name: {{ $run | quote }}
      key: psHosts
- name: WORKER_HOSTS
  valueFrom:
    configMapKeyRef:
      name: {{ $run | quote }}
      key: workerHosts
- name: TF_CONFIG
  value: {{ printf `{"cluster":$(TF_CLUSTER),"task":{"type":"%v","index":$(TASK_INDEX)}}` .role | quote }}
- name: TFGEN_RUN
  value: {{ include "tf1-translate.text" .root.Values.run | quote }}
- name: TFGEN_RUN_FOLDER
  value: {{ include "tf1-translate.text" .root.Values.resumeFrom | default (include "tf1-translate.text" .root.Values.run | default "1")
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

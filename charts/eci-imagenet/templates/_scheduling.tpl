{{- /* The scheduling fields of a pod. */}}

{{/* The placement of a task's pod. Takes root, role, values, gpus. */}}
{{- define "eci-imagenet.pod.scheduling" -}}
{{- $nodeSelector := dict }}
{{- if and .gpus .values.resources.gpu.product }}
{{- $_ := set $nodeSelector .values.resources.gpu.productLabel .values.resources.gpu.product }}
{{- end }}
{{- if and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "VirtualNode") }}
{{- $_ := set $nodeSelector "type" "virtual-kubelet" }}
{{- end }}
{{- if and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "VNode") }}
{{- $_ := set $nodeSelector "k8s.aliyun.com/vnode" "true" }}
{{- end }}
{{- $nodeSelector = mergeOverwrite $nodeSelector (include "eci-imagenet.texts" .root.Values.nodeSelector | fromYaml)
    (include "eci-imagenet.texts" .values.nodeSelector | fromYaml) }}
{{- $affinity := deepCopy .root.Values.affinity }}
{{- range $key, $value := .values.affinity }}
{{- $_ := set $affinity $key $value }}
{{- end -}}
{{- with .values.nodeName }}
nodeName: {{ . | quote }}
{{- end }}
{{- with $nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or (and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "VirtualNode"))
    (and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "VNode")) (dig "spot" .root.Values.spot .values)
    (dig "tolerations" .root.Values.tolerations .values) }}
tolerations:
{{- if and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "VirtualNode") }}
- key: virtual-kubelet.io/provider
  operator: Equal
  value: alibabacloud
  effect: NoSchedule
{{- end }}
{{- if and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "VNode") }}
- key: k8s.aliyun.com/vnode
  operator: Equal
  value: "true"
  effect: NoSchedule
{{- end }}
{{- if dig "spot" .root.Values.spot .values }}
- key: cloud.google.com/gke-spot
  operator: Exists
  effect: NoSchedule
- key: kubernetes.azure.com/scalesetpriority
  operator: Exists
  effect: NoSchedule
- key: oci.oraclecloud.com/oke-is-preemptible
  operator: Exists
  effect: NoSchedule
{{- end }}
{{- with dig "tolerations" .root.Values.tolerations .values }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}
{{- if $affinity }}
affinity:
  {{- toYaml $affinity | nindent 2 }}
{{- else if eq (dig "placement" .root.Values.placement .values) "spread" }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        labelSelector:
          matchLabels:
            {{- include "eci-imagenet.selector" .root | nindent 12 }}
            tfgen/role: {{ .role | quote }}
        topologyKey: kubernetes.io/hostname
{{- else if eq (dig "placement" .root.Values.placement .values) "pack" }}
affinity:
  podAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        labelSelector:
          matchLabels:
            {{- include "eci-imagenet.selector" .root | nindent 12 }}
        topologyKey: kubernetes.io/hostname
{{- end }}
{{- if dig "topologySpreadConstraints" .root.Values.topologySpreadConstraints .values }}
topologySpreadConstraints:
{{- range $index, $constraint := dig "topologySpreadConstraints" .root.Values.topologySpreadConstraints .values }}
- maxSkew: {{ $constraint.maxSkew | int64 }}
  {{- with $constraint.minDomains }}
  minDomains: {{ . | int64 }}
  {{- end }}
  topologyKey: {{ $constraint.topologyKey | quote }}
  whenUnsatisfiable: {{ $constraint.whenUnsatisfiable | quote }}
  {{- if hasKey $constraint "labelSelector" }}
  {{- if $constraint.labelSelector }}
  labelSelector:
    {{- toYaml $constraint.labelSelector | nindent 4 }}
  {{- else }}
  labelSelector: {}
  {{- end }}
  {{- else if or (not (has "tfgen/job" $constraint.matchLabelKeys)) (not (has "tfgen/run" $constraint.matchLabelKeys))
      (not (has "tfgen/role" $constraint.matchLabelKeys)) }}
  labelSelector:
    matchLabels:
      {{- if not (has "tfgen/job" $constraint.matchLabelKeys) }}
      tfgen/job: {{ include "eci-imagenet.fullname" $.root | quote }}
      {{- end }}
      {{- if not (has "tfgen/run" $constraint.matchLabelKeys) }}
      tfgen/run: {{ include "eci-imagenet.text" $.root.Values.run | quote }}
      {{- end }}
      {{- if not (has "tfgen/role" $constraint.matchLabelKeys) }}
      tfgen/role: {{ $.role | quote }}
      {{- end }}
  {{- else }}
  labelSelector: {}
  {{- end }}
  {{- with $constraint.matchLabelKeys }}
  matchLabelKeys:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with $constraint.nodeAffinityPolicy }}
  nodeAffinityPolicy: {{ . | quote }}
  {{- end }}
  {{- with $constraint.nodeTaintsPolicy }}
  nodeTaintsPolicy: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

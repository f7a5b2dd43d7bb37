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
    (include "eci-imagenet.texts" .values.nodeSelector | fromYaml) -}}
{{- with .values.nodeName }}
nodeName: {{ . | quote }}
{{- end }}
{{- with $nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or (and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "VirtualNode"))
    (and .root.Values.cloud.eci.enabled (eq .root.Values.cloud.eci.way "VNode")) (or .values.spot .root.Values.spot)
    (.values.tolerations | default .root.Values.tolerations) }}
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
{{- if or .values.spot .root.Values.spot }}
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
{{- with .values.tolerations | default .root.Values.tolerations }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}
{{- if .values.affinity | default .root.Values.affinity }}
affinity:
  {{- toYaml (.values.affinity | default .root.Values.affinity) | nindent 2 }}
{{- else if eq (.values.placement | default .root.Values.placement) "spread" }}
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
{{- else if eq (.values.placement | default .root.Values.placement) "pack" }}
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
{{- with .values.topologySpreadConstraints | default .root.Values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

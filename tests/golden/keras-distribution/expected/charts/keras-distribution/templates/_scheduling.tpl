{{- /* The scheduling fields of a pod. */}}

{{/* The placement of a task's pod. Takes root, role, values, gpus. */}}
{{- define "keras-distribution.pod.scheduling" -}}
{{- $nodeSelector := dict }}
{{- if and .gpus .values.resources.gpu.product }}
{{- $_ := set $nodeSelector .values.resources.gpu.productLabel .values.resources.gpu.product }}
{{- end }}
{{- $nodeSelector = mergeOverwrite $nodeSelector (include "keras-distribution.texts" .root.Values.nodeSelector | fromYaml)
    (include "keras-distribution.texts" .values.nodeSelector | fromYaml) -}}
{{- with .values.nodeName }}
nodeName: {{ . | quote }}
{{- end }}
{{- with $nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "keras-distribution.tolerations"
    (dict "spot" (or .values.spot .root.Values.spot) "tolerations" (.values.tolerations | default .root.Values.tolerations)) }}
tolerations:
{{- . }}
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
            {{- include "keras-distribution.selector" .root | nindent 12 }}
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
            {{- include "keras-distribution.selector" .root | nindent 12 }}
        topologyKey: kubernetes.io/hostname
{{- end }}
{{- with .values.topologySpreadConstraints | default .root.Values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The tolerations of a pod. With spot, the pod also tolerates the taints of the spot nodes of clouds. Takes
     spot, tolerations. */}}
{{- define "keras-distribution.tolerations" -}}
{{- if .spot }}
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
{{- with .tolerations }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{- /* The scheduling fields of a pod. */}}

{{/* The tolerations of a pod. With spot, the pod also tolerates the taints of the spot nodes of clouds. Takes
     spot, tolerations. */}}
{{- define "job.tolerations" -}}
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

{{/* The placement of a task's pod. Takes root, role, values, gpus. */}}
{{- define "job.pod.scheduling" -}}
{{- $nodeSelector := dict }}
{{- if and .gpus .values.resources.gpu.product }}
{{- $_ := set $nodeSelector .values.resources.gpu.productLabel .values.resources.gpu.product }}
{{- end }}
{{- $nodeSelector = mergeOverwrite $nodeSelector (include "job.texts" .root.Values.nodeSelector | fromYaml)
    (include "job.texts" .values.nodeSelector | fromYaml) }}
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
{{- with include "job.tolerations" (dict "spot" (dig "spot" .root.Values.spot .values) "tolerations"
    (dig "tolerations" .root.Values.tolerations .values)) }}
tolerations:
{{- . }}
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
            {{- include "job.selector" .root | nindent 12 }}
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
            {{- include "job.selector" .root | nindent 12 }}
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
      tfgen/job: {{ include "job.fullname" $.root | quote }}
      {{- end }}
      {{- if not (has "tfgen/run" $constraint.matchLabelKeys) }}
      tfgen/run: {{ include "job.text" $.root.Values.run | quote }}
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

{{/*
The pods of each role: what its tasks are, whatever object makes them.

    include "CHART.ROLE.pod" .  with the root context prints a PodTemplateSpec.

  single-gpu.chief.podHash
  single-gpu.chief.pod
  single-gpu.finisher.podHash
  single-gpu.finisher.pod
*/}}
{{/* The hash of chief.pod. Kubernetes changes no selector, so a StatefulSet that has it there keeps its pods. */}}
{{- define "single-gpu.chief.podHash" -}}
{{ printf "%s\n" (include "single-gpu.chief.pod" .) | fromYaml | mustToRawJson | sha256sum | trunc 12 }}
{{- end }}

{{/* The pods of the chief tasks. */}}
{{- define "single-gpu.chief.pod" -}}
{{- $role := .Values.roles.chief }}
{{- $requests := dict }}
{{- if $role.resources.cpu }}
{{- $_ := set $requests "cpu" (toString $role.resources.cpu) }}
{{- end }}
{{- if $role.resources.memory }}
{{- $_ := set $requests "memory" (toString $role.resources.memory) }}
{{- end }}
{{- $requests = mergeOverwrite $requests $role.resources.requests }}
{{- $limits := dict }}
{{- if $role.resources.cpu }}
{{- $_ := set $limits "cpu" (toString $role.resources.cpu) }}
{{- end }}
{{- if $role.resources.memory }}
{{- $_ := set $limits "memory" (toString $role.resources.memory) }}
{{- end }}
{{- if $role.resources.gpu.count }}
{{- $_ := set $limits $role.resources.gpu.resource $role.resources.gpu.count }}
{{- end }}
{{- $limits = mergeOverwrite $limits (ternary $role.resources.gpu.share dict (not (empty $role.resources.gpu.count))) $role.resources.limits }}
{{- $devices := dict }}
{{- range $name, $value := $limits }}
{{- if and (regexMatch "gpu|nvidia|vcuda" $name) (not (eq (printf "%v" $value) "0")) }}
{{- $_ := set $devices $name $value }}
{{- end }}
{{- end }}
{{- $env := dict "HOME" "/tmp" }}
{{- if not (or $role.resources.gpu.count $devices) }}
{{- $_ := set $env "NVIDIA_VISIBLE_DEVICES" "void" }}
{{- end }}
{{- if $limits.cpu }}
{{- $_ := set $env "OMP_NUM_THREADS" (dict "resourceFieldRef" (dict "resource" "limits.cpu")) }}
{{- $_ := set $env "TF_NUM_INTEROP_THREADS" (dict "resourceFieldRef" (dict "resource" "limits.cpu")) }}
{{- $_ := set $env "TF_NUM_INTRAOP_THREADS" (dict "resourceFieldRef" (dict "resource" "limits.cpu")) }}
{{- end }}
{{- range $key, $value := .Values.env }}
{{- $_ := set $env $key $value }}
{{- end }}
{{- range $key, $value := $role.env }}
{{- $_ := set $env $key $value }}
{{- end }}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") .Values.labels $role.labels }}
{{- $annotations := mergeOverwrite (dict "cluster-autoscaler.kubernetes.io/safe-to-evict" "false" "karpenter.sh/do-not-disrupt" "true" "linkerd.io/inject" "disabled") .Values.annotations $role.annotations }}
{{- $locked := dict }}
{{- range $name, $storage := .Values.storage }}
{{- if and ($storage.runs | default "") (or (not $storage.for) (has "chief" $storage.for)) }}
{{- $_ := set $locked $name $storage }}
{{- end }}
{{- end }}
{{- $nodeSelector := dict }}
{{- if and (or $role.resources.gpu.count $devices) $role.resources.gpu.product }}
{{- $_ := set $nodeSelector $role.resources.gpu.productLabel $role.resources.gpu.product }}
{{- end }}
{{- $nodeSelector = mergeOverwrite $nodeSelector .Values.nodeSelector $role.nodeSelector -}}
metadata:
  labels:
    {{- include "single-gpu.selector" . | nindent 4 }}
    tfgen/role: chief
    app.kubernetes.io/name: {{ .Chart.Name | quote }}
    app.kubernetes.io/instance: {{ .Release.Name | quote }}
    app.kubernetes.io/component: chief
    {{- with $labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if $annotations }}
  annotations:
    {{- with $annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  {{- if $role.priorityClassName | default .Values.priorityClassName }}
  priorityClassName: {{ $role.priorityClassName | default .Values.priorityClassName | quote }}
  {{- end }}
  {{- if $role.runtimeClassName | default .Values.runtimeClassName }}
  runtimeClassName: {{ $role.runtimeClassName | default .Values.runtimeClassName | quote }}
  {{- end }}
  {{- if $role.serviceAccountName | default .Values.serviceAccountName }}
  serviceAccountName: {{ $role.serviceAccountName | default .Values.serviceAccountName | quote }}
  {{- end }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  restartPolicy: Never
  {{- if .Values.deadline }}
  {{- if $locked }}
  activeDeadlineSeconds: {{ add .Values.deadline .Values.lockWait }}
  {{- else }}
  activeDeadlineSeconds: {{ .Values.deadline | int64 }}
  {{- end }}
  {{- end }}
  terminationGracePeriodSeconds: {{ $role.terminationGracePeriodSeconds | default 30 | int64 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: {{ .Values.security.runAsUser | int64 }}
    runAsGroup: {{ .Values.security.runAsGroup | int64 }}
    fsGroup: {{ .Values.security.fsGroup | int64 }}
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- if $role.nodeName }}
  nodeName: {{ $role.nodeName | quote }}
  {{- end }}
  {{- with $nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if or $role.spot .Values.spot }}
  tolerations:
  - key: cloud.google.com/gke-spot
    operator: Exists
    effect: NoSchedule
  - key: kubernetes.azure.com/scalesetpriority
    operator: Exists
    effect: NoSchedule
  - key: oci.oraclecloud.com/oke-is-preemptible
    operator: Exists
    effect: NoSchedule
  {{- with $role.tolerations | default .Values.tolerations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- else }}
  {{- with $role.tolerations | default .Values.tolerations }}
  tolerations:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- if $role.affinity | default .Values.affinity }}
  affinity:
    {{- toYaml ($role.affinity | default .Values.affinity) | nindent 4 }}
  {{- else if eq ($role.placement | default .Values.placement) "spread" }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          labelSelector:
            matchLabels:
              {{- include "single-gpu.selector" . | nindent 14 }}
              tfgen/role: chief
          topologyKey: kubernetes.io/hostname
  {{- else if eq ($role.placement | default .Values.placement) "pack" }}
  affinity:
    podAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          labelSelector:
            matchLabels:
              {{- include "single-gpu.selector" . | nindent 14 }}
          topologyKey: kubernetes.io/hostname
  {{- end }}
  {{- with $role.topologySpreadConstraints | default .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if $locked }}
  initContainers:
  {{- range $name, $storage := $locked }}
  - name: {{ printf "lock-%v" $name | quote }}
    image: {{ $role.image | default $.Values.image | quote }}
    {{- if $role.imagePullPolicy | default $.Values.imagePullPolicy }}
    imagePullPolicy: {{ $role.imagePullPolicy | default $.Values.imagePullPolicy | quote }}
    {{- end }}
    restartPolicy: Always
    command:
    - python3
    - -I
    - -c
    - |
      {{- $.Files.Get "files/run_lock.py" | required "the chart has no files/run_lock.py, or it is empty" | nindent 6 }}
    - /volume
    - {{ printf "/tmp/.tfgen-lock-%v" $name | quote }}
    env:
    - name: TASK_INDEX
      valueFrom:
        fieldRef:
          fieldPath: metadata.labels['batch.kubernetes.io/job-completion-index']
    - name: TFGEN_RUN
      value: {{ $.Values.run | quote }}
    - name: TFGEN_RUN_FOLDER
      value: {{ $.Values.resumeFrom | default ($.Values.run | default "1") | quote }}
    - name: NVIDIA_VISIBLE_DEVICES
      value: void
    resources:
      requests:
        cpu: {{ $.Values.helpers.resources.requests.cpu | quote }}
        memory: {{ $.Values.helpers.resources.requests.memory | quote }}
      limits:
        cpu: {{ $.Values.helpers.resources.limits.cpu | quote }}
        memory: {{ $.Values.helpers.resources.limits.memory | quote }}
    startupProbe:
      exec:
        command:
        - test
        - -e
        - {{ printf "/tmp/.tfgen-lock-%v" $name | quote }}
      periodSeconds: 1
      failureThreshold: 1000000
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: {{ $.Values.security.readOnlyRootFilesystem }}
      capabilities:
        drop:
        - ALL
    volumeMounts:
    - name: tmp
      mountPath: /tmp
    - name: {{ $name | quote }}
      mountPath: /volume
      {{- if and $storage.subPath (not (eq ($storage.runs | default "") "Separate")) }}
      subPath: {{ $storage.subPath | quote }}
      {{- end }}
      {{- if eq ($storage.runs | default "") "Separate" }}
      {{- if $storage.subPath | default $storage.subPathExpr }}
      subPathExpr: {{ printf "%v/$(TFGEN_RUN_FOLDER)" ($storage.subPath | default $storage.subPathExpr) | quote }}
      {{- else }}
      subPathExpr: $(TFGEN_RUN_FOLDER)
      {{- end }}
      {{- else if $storage.subPathExpr }}
      subPathExpr: {{ $storage.subPathExpr | quote }}
      {{- end }}
  {{- end }}
  {{- end }}
  containers:
  - name: tensorflow
    image: {{ $role.image | default .Values.image | quote }}
    {{- if $role.imagePullPolicy | default .Values.imagePullPolicy }}
    imagePullPolicy: {{ $role.imagePullPolicy | default .Values.imagePullPolicy | quote }}
    {{- end }}
    {{- with $role.command | default .Values.command }}
    command:
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with $role.args | default .Values.args }}
    args:
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if $role.workingDir | default .Values.workingDir }}
    workingDir: {{ $role.workingDir | default .Values.workingDir | quote }}
    {{- end }}
    env:
    - name: TFGEN_RUN
      value: {{ .Values.run | quote }}
    - name: TFGEN_RUN_FOLDER
      value: {{ .Values.resumeFrom | default (.Values.run | default "1") | quote }}
    {{- range $name, $value := $env }}
    {{- if kindIs "map" $value }}
    - name: {{ $name | quote }}
      valueFrom:
        {{- toYaml $value | nindent 8 }}
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
    {{- with $role.envFrom | default .Values.envFrom }}
    envFrom:
    {{- toYaml . | nindent 4 }}
    {{- end }}
    ports:
    - name: tensorflow
      containerPort: 2222
    {{- if or $requests $limits }}
    resources:
      {{- with $requests }}
      requests:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $limits }}
      limits:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
      capabilities:
        drop:
        - ALL
    volumeMounts:
    - name: tmp
      mountPath: /tmp
    {{- if $role.shm | default .Values.shm }}
    - name: shm
      mountPath: /dev/shm
    {{- end }}
    {{- range $name, $storage := .Values.storage }}
    {{- if or (not $storage.for) (has "chief" $storage.for) }}
    - name: {{ $name | quote }}
      mountPath: {{ $storage.mountPath | quote }}
      {{- if and $storage.subPath (not (eq ($storage.runs | default "") "Separate")) }}
      subPath: {{ $storage.subPath | quote }}
      {{- end }}
      {{- if eq ($storage.runs | default "") "Separate" }}
      {{- if $storage.subPath | default $storage.subPathExpr }}
      subPathExpr: {{ printf "%v/$(TFGEN_RUN_FOLDER)" ($storage.subPath | default $storage.subPathExpr) | quote }}
      {{- else }}
      subPathExpr: $(TFGEN_RUN_FOLDER)
      {{- end }}
      {{- else if $storage.subPathExpr }}
      subPathExpr: {{ $storage.subPathExpr | quote }}
      {{- end }}
      {{- if $storage.readOnly }}
      readOnly: true
      {{- end }}
    {{- end }}
    {{- end }}
  volumes:
  - name: tmp
    emptyDir: {}
  {{- if $role.shm | default .Values.shm }}
  - name: shm
    emptyDir:
      medium: Memory
      sizeLimit: {{ $role.shm | default .Values.shm | quote }}
  {{- end }}
  {{- range $name, $storage := .Values.storage }}
  {{- if or (not $storage.for) (has "chief" $storage.for) }}
  - name: {{ $name | quote }}
    {{- if $storage.claim }}
    persistentVolumeClaim:
      {{- if $storage.claim.name }}
      claimName: {{ $storage.claim.name | quote }}
      {{- else }}
      claimName: {{ printf "%v-%v" (include "single-gpu.fullname" $) $name | quote }}
      {{- end }}
    {{- else if $storage.nfs }}
    nfs:
      {{- toYaml $storage.nfs | nindent 6 }}
    {{- else if $storage.hostPath }}
    hostPath:
      {{- toYaml $storage.hostPath | nindent 6 }}
    {{- else if $storage.configMap }}
    configMap:
      {{- toYaml $storage.configMap | nindent 6 }}
    {{- else if $storage.secret }}
    secret:
      {{- toYaml $storage.secret | nindent 6 }}
    {{- else if $storage.azureFile }}
    azureFile:
      {{- toYaml $storage.azureFile | nindent 6 }}
    {{- else if $storage.csi }}
    csi:
      {{- toYaml $storage.csi | nindent 6 }}
    {{- else if $storage.flexVolume }}
    flexVolume:
      {{- toYaml $storage.flexVolume | nindent 6 }}
    {{- else if $storage.projected }}
    projected:
      {{- toYaml $storage.projected | nindent 6 }}
    {{- else if $storage.emptyDir }}
    emptyDir:
      {{- toYaml $storage.emptyDir | nindent 6 }}
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- end }}
  {{- end }}
{{- end }}

{{/* The hash of finisher.pod. Kubernetes changes no selector, so a StatefulSet that has it there keeps its pods. */}}
{{- define "single-gpu.finisher.podHash" -}}
{{ printf "%s\n" (include "single-gpu.finisher.pod" .) | fromYaml | mustToRawJson | sha256sum | trunc 12 }}
{{- end }}

{{/* The pod of the finisher. */}}
{{- define "single-gpu.finisher.pod" -}}
{{- $labels := mergeOverwrite (dict "sidecar.istio.io/inject" "false") .Values.labels }}
{{- $annotations := mergeOverwrite (dict "linkerd.io/inject" "disabled") .Values.annotations -}}
metadata:
  labels:
    {{- include "single-gpu.selector" . | nindent 4 }}
    tfgen/role: finisher
    app.kubernetes.io/name: {{ .Chart.Name | quote }}
    app.kubernetes.io/instance: {{ .Release.Name | quote }}
    app.kubernetes.io/component: finisher
    {{- with $labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if .Values.priorityClassName }}
  priorityClassName: {{ .Values.priorityClassName | quote }}
  {{- end }}
  serviceAccountName: {{ include "single-gpu.run" . }}-finisher
  automountServiceAccountToken: true
  enableServiceLinks: false
  restartPolicy: Never
  securityContext:
    runAsNonRoot: true
    runAsUser: {{ .Values.security.runAsUser | int64 }}
    runAsGroup: {{ .Values.security.runAsGroup | int64 }}
    fsGroup: {{ .Values.security.fsGroup | int64 }}
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.spot }}
  tolerations:
  - key: cloud.google.com/gke-spot
    operator: Exists
    effect: NoSchedule
  - key: kubernetes.azure.com/scalesetpriority
    operator: Exists
    effect: NoSchedule
  - key: oci.oraclecloud.com/oke-is-preemptible
    operator: Exists
    effect: NoSchedule
  {{- with .Values.tolerations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- else }}
  {{- with .Values.tolerations }}
  tolerations:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  containers:
  - name: finisher
    {{- if .Values.completion.image }}
    image: {{ .Values.completion.image | quote }}
    {{- else if .Values.roles.chief.image | default .Values.image }}
    image: {{ .Values.roles.chief.image | default .Values.image | quote }}
    {{- end }}
    {{- if .Values.roles.chief.imagePullPolicy | default .Values.imagePullPolicy }}
    imagePullPolicy: {{ .Values.roles.chief.imagePullPolicy | default .Values.imagePullPolicy | quote }}
    {{- end }}
    command:
    - python3
    - -I
    - -u
    - /finisher/finisher.py
    args:
    - {{ printf "--ends=%v-chief" (include "single-gpu.run" .) | quote }}
    {{- if .Values.startDeadline }}
    - {{ printf "--starts=jobs/%v-chief" (include "single-gpu.run" .) | quote }}
    {{- end }}
    {{- if .Values.startDeadline }}
    - --start-deadline={{ .Values.startDeadline | int64 }}
    {{- end }}
    env:
    - name: NVIDIA_VISIBLE_DEVICES
      value: void
    resources:
      requests:
        cpu: {{ .Values.helpers.resources.requests.cpu | quote }}
        memory: {{ .Values.helpers.resources.requests.memory | quote }}
      limits:
        cpu: {{ .Values.helpers.resources.limits.cpu | quote }}
        memory: {{ .Values.helpers.resources.limits.memory | quote }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: {{ .Values.security.readOnlyRootFilesystem }}
      capabilities:
        drop:
        - ALL
    volumeMounts:
    - name: finisher
      mountPath: /finisher
      readOnly: true
  volumes:
  - name: finisher
    configMap:
      name: {{ include "single-gpu.run" . }}-finisher-f3223718
{{- end }}

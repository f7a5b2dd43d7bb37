{{- define "task" -}}
replicas: {{ .replicas }}
restartPolicy: OnFailure
template:
  metadata:
    labels: {app: mnist, release: {{ .root.Release.Name }}}
  spec:
    containers:
    - name: tensorflow
      image: {{ .root.Values.image }}
      volumeMounts:
      - {name: model, mountPath: /model}
    volumes:
    - name: model
      persistentVolumeClaim: {claimName: {{ .root.Release.Name }}-model}
{{- end }}

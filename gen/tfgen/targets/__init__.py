"""What a graph of objects becomes: a chart, kustomize overlays. Each target gives a FileTree."""

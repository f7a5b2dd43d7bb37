"""Writes the outputs of a job: the chart, the kustomize overlays and the GitOps objects."""

"""Targets of an object graph: the chart, the kustomize overlays and the GitOps objects of a job."""

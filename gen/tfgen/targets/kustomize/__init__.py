"""Writes the kustomize base of a job, and the overlays with the differences of the environments."""

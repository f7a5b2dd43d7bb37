"""Writes the objects with which Argo CD and Flux apply a job."""

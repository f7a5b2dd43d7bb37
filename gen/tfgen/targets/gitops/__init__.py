"""The objects by which Argo CD and Flux apply a job."""

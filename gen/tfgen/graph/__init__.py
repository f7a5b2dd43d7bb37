"""The object graph of a job: Kubernetes objects with holes, and the replacement of the holes by values."""

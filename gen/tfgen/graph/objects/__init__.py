"""The Kubernetes objects of a job. Each module builds a type of object, or a part of a pod, from the structure."""

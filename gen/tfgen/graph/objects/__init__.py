"""The Kubernetes objects of a job. Each module builds one type of object, or one part of a pod, from the structure."""

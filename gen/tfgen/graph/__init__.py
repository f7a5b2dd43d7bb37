"""The one object graph of a job: Kubernetes objects with holes, and how they are filled."""

"""The object graph of a job: Kubernetes objects with holes in place of the tunables, and the code that fills them."""

"""A job's Kubernetes objects: one noun a module, each a function from the job's structure to a graph with holes."""

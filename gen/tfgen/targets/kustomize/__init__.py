"""The kustomize base and overlays: the graph filled, and what differs in an environment."""

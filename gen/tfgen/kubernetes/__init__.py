"""Facts of Kubernetes: quantities, keys, and the identity of objects and list items."""

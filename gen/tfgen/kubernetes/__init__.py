"""Facts about Kubernetes: quantities, label keys, limits, merge rules, and the identity of objects and list items."""

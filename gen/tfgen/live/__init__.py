"""The state of a job in its cluster. Only `kubernetes_client` imports the kubernetes client."""

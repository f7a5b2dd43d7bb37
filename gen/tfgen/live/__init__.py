"""A job in its cluster: reads what is there, and judges it. Only `kubernetes_client` imports the kubernetes client."""

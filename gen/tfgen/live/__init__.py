"""The state of a job in its cluster. Only `connection` imports the kubernetes client."""

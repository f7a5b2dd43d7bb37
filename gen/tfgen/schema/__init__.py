"""The schema of job.yaml: what a job may say, and its verdict in words."""

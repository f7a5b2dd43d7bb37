"""The schema of job.yaml: the allowed content of a job, and the check of a job with messages in words."""

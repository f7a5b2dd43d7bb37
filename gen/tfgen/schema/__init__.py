"""The schema of job.yaml and tfgen.yaml, and the check of a document with readable messages."""

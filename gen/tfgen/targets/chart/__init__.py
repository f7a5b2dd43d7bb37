"""Writes the Helm chart of a job. The object graph becomes Go template text."""

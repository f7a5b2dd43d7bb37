"""Comparison of a job with its committed version: the differences, and the changes that need a new run."""

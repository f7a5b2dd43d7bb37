"""Patches of a job."""

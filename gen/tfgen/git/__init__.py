"""Reads from git, commits and pushes. It knows nothing of jobs."""

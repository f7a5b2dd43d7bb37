"""Reads from git, commits and pushes. This package does not depend on jobs."""

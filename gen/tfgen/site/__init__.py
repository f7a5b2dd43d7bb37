"""A static site of the jobs of a repository."""

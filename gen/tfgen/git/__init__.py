"""What is read from git, and what is committed and pushed. It knows nothing of jobs."""

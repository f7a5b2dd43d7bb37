"""Functions that read from git, commit and push. This package does not depend on jobs."""

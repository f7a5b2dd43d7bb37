"""Functions that read from git, commit, and push. This package knows git only, and nothing about jobs."""

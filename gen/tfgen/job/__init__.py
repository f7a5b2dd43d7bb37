"""Training jobs: job files, defaults, structure and values."""

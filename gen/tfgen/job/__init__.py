"""A job: its files, its defaults, its structure and its values."""

"""A job: its files, the defaults under it, its structure and its values."""

"""The kinds that run a role: one module each."""

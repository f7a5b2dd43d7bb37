"""A job beside the committed one: what differs, and whether it needs a new run."""

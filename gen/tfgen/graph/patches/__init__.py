"""The application of a job's `patches` to its object graph."""

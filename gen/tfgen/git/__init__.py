"""What git says, and what it is told. It knows nothing of jobs."""

"""A tree of files, its ledger, and how it reaches the disk. It knows nothing of jobs."""

"""A tree of files, the ledger of the files, and the writes to the disk. This package does not depend on jobs."""

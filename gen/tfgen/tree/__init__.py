"""Trees of files, their ledgers, and writes to the disk. This package does not depend on the content of jobs."""

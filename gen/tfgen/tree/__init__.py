"""Trees of files, the ledgers that list the files, and writes to the disk. The package does not read jobs."""

"""Read and write the output folder, and the ledgers that list the written files. The package does not read jobs."""

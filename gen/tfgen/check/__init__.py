"""Everything that is wrong with jobs, with the objects that they become, and with the files on disk."""

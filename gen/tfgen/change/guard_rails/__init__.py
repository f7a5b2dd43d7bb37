"""The guard rails of two versions of a repository, and each change that loosens a guard rail."""

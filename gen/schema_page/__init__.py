"""docs/job-reference.md and docs/tfgen-reference.md: the keys of job.yaml and tfgen.yaml, from their schemas."""

"""Writer of docs/job-reference.md and docs/tfgen-reference.md, which describe the keys of job.yaml and tfgen.yaml."""

"""Language server for job.yaml and tfgen.yaml: problems, completion, hover, definitions and quick fixes."""

"""Language server for job.yaml and tfgen.yaml: the records of the rooms below, as types of the protocol."""

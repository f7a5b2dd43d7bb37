"""Detection of changes that loosen a guard rail of tfgen.yaml, such as a higher limit."""

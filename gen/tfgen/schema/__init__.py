"""The schemas of job.yaml and tfgen.yaml, and the check of a document with readable messages.

In this package, a node is a JSON Schema: the whole schema of a document, or a subschema inside the schema.
"""

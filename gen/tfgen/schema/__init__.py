"""The schemas of job.yaml and tfgen.yaml, and the check of a document with readable messages.

In this package, a schema node is a JSON Schema, either the whole schema of a document or a part of the schema. For
example, the part for `replicas` of a role is the schema node ``{"type": "integer", "minimum": 1, ...}``.
"""

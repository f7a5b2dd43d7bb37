"""Write the derived parts of the published schemas: `make schema`, after a change of the job schema.

This module is not in the package `tfgen`, because only a checkout contains the schemas.
"""

from __future__ import annotations

import json

from derived_schemas import defaults as defaults_schema
from derived_schemas import environment as environment_schema
from tfgen.schema import file as schema_file


def main() -> None:
    """Write both schemas, first the schema of environments, because the schema of tfgen.yaml contains this schema."""
    job = environment_schema.updated(schema_file.load())
    schema_file.path().write_text(job, encoding="utf-8")
    schema_file.path(schema_file.DEFAULTS).write_text(defaults_schema.text(json.loads(job)), encoding="utf-8")


if __name__ == "__main__":
    main()

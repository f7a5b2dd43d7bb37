"""Writes the derived parts of the published schemas anew: `make schema`, after a change of the job schema.

It stands beside the package, since only a checkout has schemas to write.
"""

from __future__ import annotations

import json

from derived_schemas import defaults as defaults_schema
from derived_schemas import environment as environment_schema
from tfgen.schema import file as schema_file


def main() -> None:
    """The part for environments comes first: a team's defaults have it too."""
    job = environment_schema.updated(schema_file.load())
    schema_file.path().write_text(job, encoding="utf-8")
    schema_file.path(schema_file.DEFAULTS).write_text(defaults_schema.text(json.loads(job)), encoding="utf-8")


if __name__ == "__main__":
    main()

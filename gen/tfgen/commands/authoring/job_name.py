"""Check the name of a new job or a new team."""

from __future__ import annotations

import re

from tfgen.errors import UsageError
from tfgen.schema import file as schema_file
from tfgen.schema.messages import as_name


def check_name(name: str, kind: str) -> None:
    """Check that a name is a valid job name, according to the schema of job.yaml.

    Args:
        name: the name.
        kind: the noun for the error message, such as "job name".

    Raises:
        UsageError: the name is not valid.
    """
    node = schema_file.node(schema_file.load(), ("metadata", "name")) or {}
    if not re.fullmatch(node["pattern"], name) or len(name) > node["maxLength"]:
        rule = f"{node['x-pattern-says']}, at most {node['maxLength']} characters"
        raise UsageError(f"{name!r} is not a valid {kind}: {rule}{as_name(name, node)}")
    if name in node["not"]["enum"]:
        raise UsageError(f"{name!r} is not a valid {kind}: choose {node['x-not-says']}")

"""Write the text of a hover: the description of a key, and the values that the job inherits for the key.

spec.gang.queue: text
...
Inherited:

  spec.gang.queue: "research", from tfgen.yaml:7:17
"""

from __future__ import annotations

from collections.abc import Iterator

from tfgen.commands.explain import explain_at
from tfgen.data_path import Path
from tfgen.errors import UsageError
from tfgen.job.origin import origins
from tfgen.lsp.analysis import Analysis
from tfgen.lsp.cursor import Cursor
from tfgen.lsp.open_files import is_defaults
from tfgen.schema import file as schema_file
from tfgen.text.document import Document
from tfgen.words import count, path_name, shown

_MOST = 12
"""Maximum number of inherited values in a hover, because a hover is small."""

_ENVIRONMENT = 3
"""Number of steps in the path of an environment: `spec`, `environments`, and the name."""


def explain_key(analysis: Analysis, cursor: Cursor) -> str | None:
    """Return the text of `tfgen explain` for a key, with the inherited values; None for an unknown key."""
    schema = schema_file.DEFAULTS if is_defaults(analysis.source.file) else schema_file.NAME
    try:
        text = explain_at(cursor.path, schema)
    except UsageError:
        return None
    lines = [f"  {line}\n" for line in _inherited(analysis, cursor)]
    hidden = f"  and {count(len(lines) - _MOST, 'more value')}\n" if len(lines) > _MOST else ""
    return f"{text}\nInherited:\n\n{''.join(lines[:_MOST])}{hidden}" if lines else text


def _inherited(analysis: Analysis, cursor: Cursor) -> Iterator[str]:
    document = analysis.accepted_at(cursor.root)
    if document is None or is_defaults(document.file) or cursor.path[:1] != ("spec",):
        return
    environment, path = split_environment(cursor.path)
    for origin in origins(document, environment):
        if origin.path[: len(path)] == path and origin.place and _is_inherited(document, origin.place.file):
            yield f"{path_name(origin.path)}: {shown(origin.value)}, from {origin}"
        elif origin.path == path and origin.registry:
            yield f"{path_name(origin.path)}: {shown(origin.value)}, registry of {origin.registry}"


def _is_inherited(document: Document, file: str) -> bool:
    return file != document.file


def split_environment(path: Path) -> tuple[str | None, Path]:
    """Split a path inside an environment into the name of the environment and the path in the job.

    Example: ("spec", "environments", "dev", "retries") gives ("dev", ("spec", "retries")). For any other path, return
    None and the unchanged path.
    """
    if path[:2] == ("spec", "environments") and len(path) >= _ENVIRONMENT:
        return str(path[2]), ("spec", *path[_ENVIRONMENT:])
    return None, path

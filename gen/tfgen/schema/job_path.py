"""Parses a path in a job, as users write the path.

>>> read_path("roles.worker.replicas"), read_path('spec.labels["example.com/team"]')
(('spec', 'roles', 'worker', 'replicas'), ('spec', 'labels', 'example.com/team'))
"""

from __future__ import annotations

import json
import re
from typing import Final

from tfgen.data_path import Path
from tfgen.errors import UsageError
from tfgen.schema import file as schema_file
from tfgen.words import shown

_STEP: Final = re.compile(r"""\.?(?P<key>[^.\[\]"=]+)|\[(?P<written>[0-9]+|"(?:[^"\\]|\\["\\])+")\]""")
"""Pattern of one step of a path: a key, a quoted key or an index."""


def read_path(text: str) -> Path:
    """Parse a path. The prefix `spec.` is optional.

    Raises:
        UsageError: the text is not a path.
    """
    path, end = _read_steps(text)
    if end != len(text) or text.startswith("."):
        raise UsageError(f"{shown(text)} is not a path; a path has the form spec.tolerations[0].key")
    return path


def read_assignment(text: str) -> tuple[Path, str]:
    """Parse an assignment. Return the path and the text of the value.

    For example, return ``(("spec", "roles", "worker", "replicas"), "4")`` for `roles.worker.replicas=4`.

    Raises:
        UsageError: the text is not an assignment.
    """
    path, end = _read_steps(text)
    if not path or text.startswith(".") or text[end : end + 1] != "=":
        raise UsageError(f"{shown(text)} is not an assignment; write PATH=VALUE, such as roles.worker.replicas=4")
    return path, text[end + 1 :]


def _read_steps(text: str) -> tuple[Path, int]:
    """Parse the path at the start of a text. Return the path, and the index of the first character after the path.

    For example, return ``(("spec", "retries"), 7)`` for `retries=2`.
    """
    steps: list[str | int] = []
    end = 0
    while match := _STEP.match(text, end):
        end = match.end()
        steps.append(match["key"] or json.loads(match["written"]))
    is_below = steps and isinstance(steps[0], str) and steps[0] not in schema_file.load()["properties"]
    return ("spec", *steps) if is_below else tuple(steps), end

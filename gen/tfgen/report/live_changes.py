"""Prints the changes that a command makes to objects in a cluster, as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfgen.commands.cluster.target import ObjectChange
from tfgen.report.diff_json import field_row
from tfgen.report.diff_text import field_lines


def change_lines(change: ObjectChange, *, is_detailed: bool) -> Iterator[str]:
    """Yield the line about a changed object. If `is_detailed`, add the lines about the object's changed fields."""
    _, kind, name = change.identity
    reason = f": {change.reason}" if change.reason else ""
    yield f"{change.outcome:<9}  {kind} {name}{reason}"
    if is_detailed:
        yield from (f"    {line}" for field in change.fields for line in field_lines(field))


def change_row(change: ObjectChange) -> dict[str, Any]:
    """Return the change of an object as plain data for JSON."""
    version, kind, name = change.identity
    fields = [field_row(field) for field in change.fields]
    reason = {"reason": change.reason} if change.reason else {}
    return {"action": change.outcome, "apiVersion": version, "kind": kind, "name": name, "fields": fields, **reason}

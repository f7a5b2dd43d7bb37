"""Converts the differences between two versions of jobs to plain data for JSON."""

from __future__ import annotations

from typing import Any

from tfgen.change.field_diff import NOTHING, FieldChange
from tfgen.change.job_diff import JobDiff, ObjectDiff
from tfgen.kubernetes.object import identity
from tfgen.kubernetes.pods import Totals


def rows(diff: JobDiff) -> dict[str, Any]:
    """Return the differences of a job as plain data for JSON.

    If a field is missing in the old or the new version, its row has no key `before` or `after`.
    """
    return {
        "job": diff.name,
        "file": diff.file,
        "needsNewRun": [
            {"file": p.file, "line": p.position.line, "column": p.position.column, "message": p.message, "rule": p.rule}
            for p in diff.needs_new_run
        ],
        "environments": [
            {
                "environment": environment.environment,
                "newRun": {"before": environment.runs[0], "after": environment.runs[1]} if environment.runs else None,
                "before": _totals_row(environment.before),
                "after": _totals_row(environment.after),
                "place": [field_row(change) for change in environment.place],
                "kept": list(environment.kept_claims),
                "objects": [_object_row(item) for item in environment.objects],
            }
            for environment in diff.environments
        ],
        "delivery": [{**_object_row(item), "file": item.file, "shared": item.is_shared} for item in diff.delivery],
    }


def _totals_row(totals: Totals | None) -> dict[str, Any] | None:
    """Return the requests of a job as plain numbers, CPU in cores and memory in bytes."""
    if totals is None:
        return None
    requests = {name: int(value) if value.denominator == 1 else float(value) for name, value in totals.requests.items()}
    return {"pods": totals.pods, "requests": requests}


def _object_row(item: ObjectDiff) -> dict[str, Any]:
    api_version, kind, name = identity(item.item)
    head = {"action": item.action, "apiVersion": api_version, "kind": kind, "name": name}
    if item.action == "changed":
        return {**head, "fields": [field_row(change) for change in item.fields]}
    return {**head, "object": dict(item.item)}


def field_row(change: FieldChange) -> dict[str, Any]:
    """Return a changed field as plain data for JSON, with the keys `path`, `before` and `after`.

    If the field is missing in the old or the new version, the row has no key `before` or `after`.
    """
    sides = {"before": change.before, "after": change.after}
    return {"path": str(change.path), **{side: value for side, value in sides.items() if value is not NOTHING}}

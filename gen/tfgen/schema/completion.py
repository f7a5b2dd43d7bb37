"""Whose end ends a job, and whose tasks go on until then: what a spec says of it, and what it leaves to tfgen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfgen.schema import workload_kinds as kinds
from tfgen.schema.workload_kinds.facts import CompletionBy


def ended_by(spec: Mapping[str, Any]) -> CompletionBy:
    """Whose end ends the job: by the spec, by its kind, or by its strategy."""
    by: CompletionBy | None = spec.get("completion", {}).get("by") or kinds.FACTS[kinds.of_spec(spec)].default_end
    return by or ("Worker0" if spec.get("strategy") == "MultiWorkerMirrored" else "Chief")


def releases(spec: Mapping[str, Any]) -> bool:
    """Whether the tasks that still run at the job's end are released."""
    return bool(kinds.value_of(spec, "completion.release") == "ScaleToZero")


def serves(spec: Mapping[str, Any], role: str) -> bool:
    """Whether a role's tasks go on until the job is done.

    A worker whose end is waited for must end; else it serves unless it says otherwise.
    """
    if role == "worker":
        return ended_by(spec) == "Chief" and spec["roles"]["worker"].get("runs", "Serving") == "Serving"
    return role == "ps"

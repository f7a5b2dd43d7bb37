"""The completion of a job: the role whose end completes the job, and the roles whose tasks run until this end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tfgen.schema import workload_kinds as kinds
from tfgen.schema.workload_kinds import CompletionBy

EQUAL_WORKERS: Final = ("MultiWorkerMirrored", "KerasDistribution")
"""The strategies whose workers are equal. Worker 0 coordinates the workers."""


def default_end(strategy: str | None) -> CompletionBy:
    """Return the default of `completion.by` for a strategy.

    The default is "Worker0" for a strategy with equal workers, and "Chief" for each other strategy.
    """
    return "Worker0" if strategy in EQUAL_WORKERS else "Chief"


def ended_by(spec: Mapping[str, Any]) -> CompletionBy:
    """Return the name of the tasks whose end completes the job: "Chief", "Worker0" or "AllWorkers".

    The name is the value of `completion.by`. If the job does not set `completion.by`, the name is the default of the
    workload kind. If the workload kind has no default, the name is the default of the strategy.
    """
    by: CompletionBy | None = spec.get("completion", {}).get("by") or kinds.FACTS[kinds.of_spec(spec)].default_end
    return by or default_end(spec.get("strategy"))


def releases(spec: Mapping[str, Any]) -> bool:
    """Test whether tfgen releases the tasks that still run when the job is complete."""
    return bool(kinds.value_of(spec, "completion.release") == "ScaleToZero")


def serves(spec: Mapping[str, Any], role: str) -> bool:
    """Test whether the tasks of a role run until the job is complete, instead of exiting by themselves.

    Return True for ps. Return True for workers if the end of the chief completes the job, and the workers have the
    default ``runs: Serving``. Return False for all other tasks.
    """
    if role == "worker":
        return ended_by(spec) == "Chief" and spec["roles"]["worker"].get("runs", "Serving") == "Serving"
    return role == "ps"

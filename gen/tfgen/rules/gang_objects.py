"""A gang of several objects, under Kueue, to which each is a gang of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.schema.workload_kinds import WorkloadKind
from tfgen.words import either

_OBJECT_A_ROLE: Final[tuple[WorkloadKind, ...]] = ("StatefulSet", "Job")
# Of the others, those that Kueue knows (https://kueue.sigs.k8s.io/docs/tasks/run/).
_ONE_OBJECT: Final[tuple[WorkloadKind, ...]] = ("TFJob", "JobSet")


def _check(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if view.environment is not None or structure.gang != "kueue" or structure.kind not in _OBJECT_A_ROLE:
        return  # the structure is the same in every environment
    roles = [role.name for role in structure.roles if role.name != "evaluator"]
    if len(roles) > 1:
        message = (
            f"kueue admits one object at a time, and {either(roles, 'and')} are {len(roles)}, each of which could "
            f"start without the rest; take the workload kind {either(_ONE_OBJECT)}, or the strategy MultiWorkerMirrored"
        )
        yield Finding(("gang", "scheduler"), message)


RULES: Final = (
    Rule("gang-objects", "error", "A gang is more than one object, where the scheduler starts them by object.", _check),
)

"""Gangs with one object for each role, although the scheduler Kueue admits each object separately."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema.workload_kinds import FACTS
from tfgen.words import either

# The workload kinds that make one object and that Kueue supports (https://kueue.sigs.k8s.io/docs/tasks/run/).
_ADMITTED_WHOLE: Final = [kind for kind, facts in FACTS.items() if facts.is_admitted_whole]


def _check(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if view.environment is not None or structure.gang != "kueue" or not FACTS[structure.kind].makes_object_per_role:
        return  # The structure is the same in every environment, so check only the job itself.
    roles = [role.name for role in structure.roles if role.name != "evaluator"]
    if len(roles) > 1:
        message = (
            f"gang.scheduler kueue admits each object separately, and the roles {either(roles, 'and')} are "
            f"{len(roles)} objects, so one role could start alone; set workload.kind to {either(_ADMITTED_WHOLE)}, or "
            "use the strategy MultiWorkerMirrored"
        )
        yield Finding(("gang", "scheduler"), message)


RULES: Final = (
    Rule(
        "gang-objects",
        "error",
        "A gang consists of several objects, but its scheduler starts each object separately.",
        _check,
    ),
)

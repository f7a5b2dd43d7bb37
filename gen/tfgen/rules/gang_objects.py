"""A gang of several objects, under Kueue, to which each is a gang of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema.workload_kinds import FACTS
from tfgen.words import either

# Of the kinds that make one object, those that Kueue knows (https://kueue.sigs.k8s.io/docs/tasks/run/).
_ADMITTED_WHOLE: Final = [kind for kind, facts in FACTS.items() if facts.is_admitted_whole]


def _check(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if view.environment is not None or structure.gang != "kueue" or not FACTS[structure.kind].makes_object_a_role:
        return  # the structure is the same in every environment
    roles = [role.name for role in structure.roles if role.name != "evaluator"]
    if len(roles) > 1:
        message = (
            f"kueue admits one object at a time, and {either(roles, 'and')} are {len(roles)}, each of which could "
            f"start without the rest; take the workload kind {either(_ADMITTED_WHOLE)}, "
            "or the strategy MultiWorkerMirrored"
        )
        yield Finding(("gang", "scheduler"), message)


RULES: Final = (
    Rule(
        "gang-objects", "error", "A gang has several objects, but its scheduler starts each object by itself.", _check
    ),
)

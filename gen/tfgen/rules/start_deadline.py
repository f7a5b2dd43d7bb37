"""A deadline for the start that an image which cannot be pulled switches off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.objects import finisher
from tfgen.graph.objects.values import value_for_role
from tfgen.graph.workloads import WORKLOADS
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import either


def _check(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    plan = WORKLOADS[structure.kind].plan(structure)
    if plan is None or not view.values["startDeadline"]:
        return
    image = view.evaluate(finisher.image(structure, plan))
    same = [role.name for role in view.roles if view.evaluate(value_for_role(role.name, "image")) == image]
    if same:
        message = (
            f"startDeadline releases nothing where the image of {either(same, 'and')} cannot be pulled, because the "
            "finisher runs in it; name another in completion.image"
        )
        yield Finding(("startDeadline",), message)


RULES: Final = (
    Rule(
        "start-deadline-image",
        "warning",
        "The finisher needs the job's image to release a job at its startDeadline.",
        _check,
    ),
)

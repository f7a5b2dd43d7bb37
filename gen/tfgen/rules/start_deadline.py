"""Start deadlines with no effect if an image cannot be pulled, because the finisher needs the same image."""

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
    roles = [role.name for role in view.roles if view.evaluate(value_for_role(role.name, "image")) == image]
    if roles:
        message = (
            f"startDeadline cannot release the job if the image of {either(roles, 'and')} cannot be pulled, because "
            "the finisher runs in the same image; set completion.image to a different image"
        )
        yield Finding(("startDeadline",), message)


RULES: Final = (
    Rule(
        "start-deadline-image",
        "warning",
        "The finisher, which releases a job at startDeadline, runs in the image of the job.",
        _check,
    ),
)

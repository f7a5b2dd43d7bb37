"""Two answers to where a role's pods run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        placement, word = view.effective(role.name, "placement")
        affinity, rules = view.effective(role.name, "affinity")
        if rules and word != "none":
            message = (
                f"role {role.name} has an affinity, which takes the place of placement {word}; "
                "say all of it in the affinity, and set placement to none"
            )
            yield Finding(view.blamed(placement, affinity), message)


RULES: Final = (Rule("placement-and-affinity", "error", "A role has both a placement and an affinity.", _check),)

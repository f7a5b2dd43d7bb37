"""Roles that set both `placement` and `affinity`, although only the affinity would apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        placement_path, placement = view.effective_field(role.name, "placement")
        affinity_path, affinity = view.effective_field(role.name, "affinity")
        if affinity and placement != "none":
            message = (
                f"role {role.name} has an affinity, which overrides placement {placement}; set placement to none, and "
                "write the complete affinity"
            )
            yield Finding(view.reported_path(placement_path, affinity_path), message)


RULES: Final = (Rule("placement-and-affinity", "error", "A role has both a placement and an affinity.", _check),)

"""Roles that a volume lists under `for`, and that the job does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.objects import tensorboard
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import either


def _check(view: View) -> Iterator[Finding]:
    roles = [*(role.name for role in view.roles), *([tensorboard.ROLE] if "tensorboard" in view.values else [])]
    for name, volume in view.values["storage"].items():
        for index, role in enumerate(volume.get("for", ())):
            if role not in roles:
                message = (
                    f"storage.{name}.for lists {role}, but the job has only {either(roles, 'and')}; remove this entry, "
                    f"or add {role} to the job"
                )
                yield Finding(("storage", name, "for", index), message)


RULES: Final = (Rule("unknown-role", "error", "A volume is for a role that the job does not have.", _check),)

"""A /dev/shm that may grow beyond the memory of its container.

What a container writes into a volume in memory counts as the memory of that container:
https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.objects.resources import LIMITS
from tfgen.kubernetes import quantity
from tfgen.rules.finding import Finding
from tfgen.rules.limits import locate_amount
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        path, shm = view.effective(role.name, "shm")
        memory = view.bound(role.name)[LIMITS.name].get("memory")
        if shm and memory and quantity.parse(shm) > quantity.parse(memory):
            message = (
                f"the shm of role {role.name} may hold {shm}, and its whole memory is {memory}, in which shm counts; "
                "raise the memory, or lower shm"
            )
            yield Finding(
                view.blamed(path, locate_amount(view, ("roles", role.name, "resources"), "limits", "memory")), message
            )


RULES: Final = (Rule("shm-size", "warning", "The shm of a role is larger than its memory.", _check),)

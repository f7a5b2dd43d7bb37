"""Sizes of /dev/shm above the memory limit of the container.

Kubernetes counts the files in a memory volume as memory of the container that writes the files:
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
        path, shm = view.effective_field(role.name, "shm")
        memory = view.template_variables(role.name)[LIMITS.name].get("memory")
        if shm and memory and quantity.parse(shm) > quantity.parse(memory):
            message = (
                f"the shm of role {role.name} is {shm}, but its memory limit is {memory}, which includes shm; raise "
                "the memory limit, or lower shm"
            )
            yield Finding(
                view.reported_path(path, locate_amount(view, ("roles", role.name, "resources"), "limits", "memory")),
                message,
            )


RULES: Final = (
    Rule(
        "shm-size",
        "warning",
        "The shared memory (`shm`) of a role is larger than the memory limit of the role.",
        _check,
    ),
)

"""GPUs where nothing computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen import quantity
from tfgen.objects.resources import LIMITS
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    if not view.job.structure.role("ps"):
        return
    said = view.values["roles"]["ps"]["resources"]
    resource = said["gpu"]["resource"]
    gpus = view.role_scope("ps").bound[LIMITS.name].get(resource, 0)
    if quantity.parse(gpus) > 0:
        key = ("limits", resource) if resource in said["limits"] else ("gpu", "count")
        message = f"role ps asks for {gpus} of {resource} a task, which would stand idle: it only holds variables"
        yield Finding(("roles", "ps", "resources", *key), message)


RULES: Final = (Rule("gpu-on-ps", "warning", "A parameter server asks for GPUs.", _check),)

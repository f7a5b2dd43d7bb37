"""GPUs of parameter servers, which hold variables and do not compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.objects.resources import DEVICES
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    if not view.job.structure.role("ps"):
        return
    resources = view.values["roles"]["ps"]["resources"]
    gpu, limits = resources["gpu"], resources["limits"]
    counted = {gpu["resource"]: gpu["count"]} if gpu["count"] and gpu["resource"] not in limits else {}
    for resource, amount in {**counted, **view.template_variables("ps")[DEVICES.name]}.items():
        if resource not in counted and resource not in limits:
            continue  # This resource is a share of the GPUs in gpu.count, so skip it.
        key: Path = ("gpu", "count") if resource in counted else ("limits", resource)
        message = (
            f"role ps requests {amount} of {resource} for each task, but a parameter server only holds variables and "
            "leaves GPUs idle; remove the request"
        )
        yield Finding(("roles", "ps", "resources", *key), message)


RULES: Final = (Rule("gpu-on-ps", "warning", "A parameter server requests GPUs.", _check),)

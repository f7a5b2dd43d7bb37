"""Requests for GPUs that contradict each other, the node selector or the scheduler, and old resource names.

https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.value_guards import LEGACY_GPU, legacy_gpu_message
from tfgen.job.training_job import RoleName
from tfgen.kubernetes import quantity
from tfgen.rules import guarded, pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

_VOLCANO: Final = "volcano.sh/vgpu-"


def _resources(view: View) -> Iterator[tuple[RoleName, Path, Mapping[str, Any]]]:
    """Yield the name of each role, the path of the role's resources, and the resources."""
    for role in view.roles:
        yield role.name, ("roles", role.name, "resources"), view.values["roles"][role.name]["resources"]


def _amounts(resources: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, str | int]]]:
    """Yield the path and the amounts of `requests`, `limits` and `gpu.share` in the resources of a role.

    Example: ``(("gpu", "share"), {"aliyun.com/gpu-mem": 8})``. The path begins below `resources`.
    """
    yield from (((key,), resources[key]) for key in ("requests", "limits"))
    yield ("gpu", "share"), resources["gpu"]["share"]


def _check_legacy_names(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        legacy: list[Path] = [(*key, LEGACY_GPU) for key, amounts in _amounts(resources) if LEGACY_GPU in amounts]
        if resources["gpu"]["resource"] == LEGACY_GPU:
            legacy.append(("gpu", "resource"))
        for key in legacy:
            yield Finding((*path, *key), view.evaluate(legacy_gpu_message(role)))


def _check_counts(view: View) -> Iterator[Finding]:
    for path, message, _ in guarded.find_broken_guards("gpu-count", view):
        gpu = data_path.at(view.values, path[:3])["gpu"]
        counts = [(*path[:3], "gpu", "count")] if gpu["count"] and gpu["resource"] == path[-1] else []
        # The rule device-in-parts reports fractions.
        if not _is_fraction(data_path.at(view.values, path)):
            yield Finding(view.reported_path(path, *counts), message)


def _is_fraction(amount: str | int) -> bool:
    return quantity.parse(amount).denominator != 1


def _check_products(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        product, label = resources["gpu"]["product"], resources["gpu"]["productLabel"]
        for selector in (("roles", role, "nodeSelector"), ("nodeSelector",)):
            labels = view.values["roles"][role].get("nodeSelector", {}) if selector[1:] else view.values["nodeSelector"]
            if label not in labels:
                continue
            if product and resources["gpu"]["count"] and labels[label] != product:
                message = (
                    f"role {role} has gpu.product {product}, but its nodeSelector sets {label} to {labels[label]} and "
                    "overrides the product; remove the label from nodeSelector"
                )
                yield Finding(view.reported_path((*selector, label), (*path, "gpu", "product")), message)
            break


def _check_volcano(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if structure.kind == "VolcanoJob" or (structure.gang == "volcano" and view.values["gang"]["enabled"]):
        return
    for role, path, resources in _resources(view):
        has_scheduler = any("schedulerName" in spec.data for spec in pod_parts.template_specs(view, role))
        gpu = resources["gpu"]
        virtual = [("limits", name) for name in resources["limits"] if name.startswith(_VOLCANO)]
        virtual += [("gpu", "resource")] if gpu["count"] and gpu["resource"].startswith(_VOLCANO) else []
        if virtual and not has_scheduler:
            message = (
                f"role {role} requests a virtual GPU of Volcano, but Volcano does not schedule the pods; set gang: "
                "{scheduler: volcano}"
            )
            yield Finding((*path, *virtual[0]), message)


RULES: Final = (
    Rule(
        "gpu-count",
        "error",
        "A number of GPUs is not valid, or two numbers of GPUs for one role differ.",
        _check_counts,
    ),
    Rule("gpu-product", "error", "The GPU product of a role contradicts the node selector.", _check_products),
    Rule(
        "vgpu-scheduler",
        "warning",
        "A job requests a virtual GPU of Volcano, but Volcano does not schedule the pods.",
        _check_volcano,
    ),
    Rule(
        "legacy-gpu", "error", "A request for a GPU uses a resource name that Kubernetes removed.", _check_legacy_names
    ),
)

"""Devices, which Kubernetes gives out whole, and under the names that their plugins have today.

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
    """The resources of each role, and where they are said."""
    for role in view.roles:
        yield role.name, ("roles", role.name, "resources"), view.values["roles"][role.name]["resources"]


def _amounts(resources: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, str | int]]]:
    """Every map of amounts in a role's resources."""
    yield from (((key,), resources[key]) for key in ("requests", "limits"))
    yield ("gpu", "share"), resources["gpu"]["share"]


def _legacy(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        legacy: list[Path] = [(*key, LEGACY_GPU) for key, amounts in _amounts(resources) if LEGACY_GPU in amounts]
        if resources["gpu"]["resource"] == LEGACY_GPU:
            legacy.append(("gpu", "resource"))
        for key in legacy:
            yield Finding((*path, *key), view.evaluate(legacy_gpu_message(role)))


def _is_device(name: str) -> bool:
    """Whether a resource is counted by a plugin, and not by Kubernetes itself."""
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io")


def _in_parts(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        for key, amounts in _amounts(resources):
            for name, amount in amounts.items():
                if _is_device(name) and _is_in_parts(amount):
                    message = (
                        f"role {role} asks for {amount} of {name}, which Kubernetes gives out whole only; "
                        "for a part of a GPU ask for a MIG profile, or for a share by gpu.share"
                    )
                    yield Finding((*path, *key, name), message)


def _gpu_counts(view: View) -> Iterator[Finding]:
    for path, message, _ in guarded.find_broken_guards("gpu-count", view):
        gpu = data_path.at(view.values, path[:3])["gpu"]
        counts = [(*path[:3], "gpu", "count")] if gpu["count"] and gpu["resource"] == path[-1] else []
        # Of parts the rule device-in-parts speaks.
        if not _is_in_parts(data_path.at(view.values, path)):
            yield Finding(view.blamed(path, *counts), message)


def _is_in_parts(amount: str | int) -> bool:
    return quantity.parse(amount).denominator != 1


def _products(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        product, label = resources["gpu"]["product"], resources["gpu"]["productLabel"]
        for selector in (("roles", role, "nodeSelector"), ("nodeSelector",)):
            labels = view.values["roles"][role]["nodeSelector"] if selector[1:] else view.values["nodeSelector"]
            if label not in labels:
                continue
            if product and resources["gpu"]["count"] and labels[label] != product:
                message = (
                    f"role {role} has gpu.product {product}, and its nodeSelector has {labels[label]} for {label}, "
                    "which wins over it; say the product in gpu.product alone"
                )
                yield Finding(view.blamed((*selector, label), (*path, "gpu", "product")), message)
            break


def _of_volcano(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if structure.kind == "VolcanoJob" or (structure.gang == "volcano" and view.values["gang"]["enabled"]):
        return
    for role, path, resources in _resources(view):
        other = any("schedulerName" in spec.data for spec in pod_parts.specs(view, role))
        gpu = resources["gpu"]
        virtual = [("limits", name) for name in resources["limits"] if name.startswith(_VOLCANO)]
        virtual += [("gpu", "resource")] if gpu["count"] and gpu["resource"].startswith(_VOLCANO) else []
        if virtual and not other:
            message = (
                f"role {role} asks for a virtual GPU of Volcano's, which counts them only in pods that it schedules; "
                "say gang: {scheduler: volcano}"
            )
            yield Finding((*path, *virtual[0]), message)


def _without_limit(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        gpu = resources["gpu"]
        limits = {**({gpu["resource"]: gpu["count"], **gpu["share"]} if gpu["count"] else {}), **resources["limits"]}
        for name, amount in resources["requests"].items():
            if not _is_device(name):
                continue
            # Above the limit is the rule limits-below-requests.
            if name not in limits or quantity.parse(amount) < quantity.parse(limits[name]):
                message = (
                    f"role {role} requests {amount} of {name}, and its limit is {limits.get(name, 'not said')}; "
                    "of a device both must be the same, so say the limit alone"
                )
                yield Finding((*path, "requests", name), message)


RULES: Final = (
    Rule("device-in-parts", "error", "A request asks for a fraction of a device.", _in_parts),
    Rule("device-request", "error", "A device is requested without the same limit.", _without_limit),
    Rule("gpu-count", "error", "A number of GPUs contradicts another, or is not valid.", _gpu_counts),
    Rule("gpu-product", "error", "A GPU's product contradicts the node selector.", _products),
    Rule(
        "vgpu-scheduler",
        "warning",
        "A job asks for Volcano's virtual GPU, but another scheduler places its pods.",
        _of_volcano,
    ),
    Rule("legacy-gpu", "error", "A request names a GPU by a name that Kubernetes no longer knows.", _legacy),
)

"""Check of the gang: each PodGroup must wait for all its pods, or for the minimum number that the job sets."""

from __future__ import annotations

from collections.abc import Iterator

from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.check.object_checks.pods import Pods
from tfgen.kubernetes.object import Object

_BINDINGS = ("/group-name", "/pod-group")
"""Suffixes of the annotations and labels with which a pod names its group."""


def check(objects: Objects) -> Iterator[Fault]:
    """Yield a fault for each PodGroup with a wrong size, and for each pod whose PodGroup does not exist."""
    groups = {group["metadata"]["name"]: group for group in objects.of_kind("PodGroup")}
    for pods in objects.pods:
        for name in _groups(pods):
            if name not in groups:
                yield Fault(pods.owner, pods.path[:-1], f"the pods are in the PodGroup {name}, which does not exist")
    for name, group in groups.items():
        members = sum(pods.count for pods in objects.pods if name in _groups(pods))
        yield from _size(group, members, objects.min_available)


def _size(group: Object, members: int, min_available: int) -> Iterator[Fault]:
    path, minimum = _minimum(group)
    if minimum is None:
        return
    if minimum > members:
        yield Fault(group, path, f"the PodGroup waits for {minimum} pods, but has {members} pods")
    elif minimum != (min_available or members):
        message = f"the PodGroup waits for {minimum} pods, but the gang of the job has {min_available or members} pods"
        yield Fault(group, path, message)


def _minimum(group: Object) -> tuple[FieldPath, int | None]:
    """Return the path and the value of the field that sets the minimum number of pods in a PodGroup.

    Example: (("spec", "minMember"), 7). The path depends on the scheduler. The value is None without such a field.
    """
    spec = group["spec"]
    if "schedulingPolicy" in spec:
        count = (spec["schedulingPolicy"].get("gang") or {}).get("minCount")
        return ("spec", "schedulingPolicy", "gang", "minCount"), count
    return ("spec", "minMember"), spec.get("minMember")


def _groups(pods: Pods) -> set[str]:
    marks = (*pods.annotations.items(), *pods.labels.items())
    kubernetes_group = (pods.spec.get("schedulingGroup") or {}).get("podGroupName")
    groups = {value for key, value in marks if key.endswith(_BINDINGS)}
    return groups | ({kubernetes_group} if kubernetes_group else set())

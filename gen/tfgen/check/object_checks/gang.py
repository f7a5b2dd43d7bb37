"""The gang: its group asks for as many pods as say that they are in it."""

from __future__ import annotations

from collections.abc import Iterator

from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.check.object_checks.pods import Pods
from tfgen.kubernetes.object import Object

_BINDINGS = ("/group-name", "/pod-group")
"""The ends of the annotations and labels by which a pod names its group."""


def check(objects: Objects) -> Iterator[Fault]:
    """Each group of another size than its pods', and each pod of a group that is not there."""
    groups = {group["metadata"]["name"]: group for group in objects.of_kind("PodGroup")}
    for pods in objects.pods:
        for name in _groups(pods):
            if name not in groups:
                yield Fault(pods.owner, pods.path[:-1], f"its pods are in the PodGroup {name}, which is not made")
    for name, group in groups.items():
        members = sum(pods.count for pods in objects.pods if name in _groups(pods))
        yield from _size(group, members, objects.min_available)


def _size(group: Object, members: int, asked: int) -> Iterator[Fault]:
    path, least = _least(group)
    if least is None:
        return
    if least > members:
        yield Fault(group, path, f"it waits for {least} pods, and {members} are in it")
    elif least != (asked or members):
        yield Fault(group, path, f"it waits for {least} pods, and the job's gang is {asked or members}")


def _least(group: Object) -> tuple[FieldPath, int | None]:
    """How many pods a group waits for, and where it says so: Kubernetes' own has another place than all others."""
    spec = group["spec"]
    if "schedulingPolicy" in spec:
        count = (spec["schedulingPolicy"].get("gang") or {}).get("minCount")
        return ("spec", "schedulingPolicy", "gang", "minCount"), count
    return ("spec", "minMember"), spec.get("minMember")


def _groups(pods: Pods) -> set[str]:
    marks = (*pods.annotations.items(), *pods.labels.items())
    own = (pods.spec.get("schedulingGroup") or {}).get("podGroupName")
    return {value for key, value in marks if key.endswith(_BINDINGS)} | ({own} if own else set())

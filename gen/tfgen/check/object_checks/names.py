"""Check of the names within a pod: the names of containers and the names of volumes must be unique."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tfgen.check.object_checks.fault import Fault, Objects


def check(objects: Objects) -> Iterator[Fault]:
    """Yield a fault for each name that several containers, or several volumes, of a pod have."""
    for pods in objects.pods:
        for name in _duplicates(container["name"] for _, container in pods.containers):
            yield Fault(pods.owner, pods.path, f"several containers of its pod have the name {name}")
        for name in _duplicates(volume["name"] for volume in pods.spec.get("volumes", ())):
            yield Fault(pods.owner, (*pods.path, "volumes"), f"several volumes of its pod have the name {name}")


def _duplicates(names: Iterable[Any]) -> list[Any]:
    return [name for name, times in Counter(names).items() if times > 1]

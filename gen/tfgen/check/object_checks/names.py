"""Names within a pod: no two of its containers have one, nor two of its volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tfgen.check.object_checks.fault import Fault, Objects


def check(objects: Objects) -> Iterator[Fault]:
    """Each name that two containers have, whichever list they are in, and each that two volumes have."""
    for pods in objects.pods:
        for name in _twice(container["name"] for _, container in pods.containers):
            yield Fault(pods.owner, pods.path, f"several containers of its pod have the name {name}")
        for name in _twice(volume["name"] for volume in pods.spec.get("volumes", ())):
            yield Fault(pods.owner, (*pods.path, "volumes"), f"several volumes of its pod have the name {name}")


def _twice(names: Iterable[Any]) -> list[Any]:
    return [name for name, times in Counter(names).items() if times > 1]

"""What the objects of an environment ask a cluster for: pods, and their requests of each resource.

totals(objects)  ->  Totals(pods=7, requests={"cpu": 22, "memory": 47244640256, "nvidia.com/gpu": 4})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from tfgen.check.object_checks.pods import Pods, pods_of
from tfgen.kubernetes import quantity
from tfgen.record import Record

_BINARY: Final = ("memory", "ephemeral-storage")
_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Totals(Record):
    """Pods, and the sum of what they request: CPU in cores, memory in bytes, devices in their number."""

    pods: int
    requests: Mapping[str, Fraction]


def totals(objects: Iterable[Mapping[str, Any]]) -> Totals:
    """The sums over all pods of some objects, whether or not they run at the same time."""
    all_pods = [pods for item in objects for pods in pods_of(item)]
    requests: dict[str, Fraction] = {}
    for pods in all_pods:
        _add(requests, pod_requests(pods), pods.count)
    return Totals(sum(pods.count for pods in all_pods), requests)


def amount(resource: str, value: Fraction) -> str:
    """An amount of a resource as people write it: memory in the largest unit that leaves it whole, or nearly."""
    if resource not in _BINARY:
        return f"{float(value):g}"
    unit = 0
    while value >= 1024 and unit + 1 < len(_UNITS):
        value, unit = value / 1024, unit + 1
    return f"{float(round(value, 2)):g}{_UNITS[unit]}"


def pod_requests(pods: Pods) -> dict[str, Fraction]:
    """What the scheduler reserves for one pod.

    The sum of what runs side by side, or what the largest of those before needs, if that is more:
    https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
    """
    beside: dict[str, Fraction] = {}
    before: dict[str, Fraction] = {}
    for path, container in pods.containers:
        asked = _of_container(container)
        if path[-2] == "containers" or container.get("restartPolicy") == "Always":
            _add(beside, asked, 1)
        else:
            before = {**before, **{key: max(before.get(key, value), value) for key, value in asked.items()}}
    return {**before, **{key: max(before.get(key, value), value) for key, value in beside.items()}}


def _add(total: dict[str, Fraction], more: Mapping[str, Fraction], times: int) -> None:
    for resource, value in more.items():
        total[resource] = total.get(resource, Fraction(0)) + times * value


def _of_container(container: Mapping[str, Any]) -> dict[str, Fraction]:
    """Requests; where there is only a limit, Kubernetes takes that for the request."""
    resources = container.get("resources") or {}
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {resource: Fraction(quantity.parse(value)) for resource, value in amounts.items()}

"""Totals of the objects of an environment: the number of pods, and the requests of each resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tfgen.kubernetes.pod_requests import pod_requests
from tfgen.kubernetes.pods import pods_of
from tfgen.record import Record

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

_BINARY: Final = ("memory", "ephemeral-storage")
_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Totals(Record):
    """The number of pods, and the sums of their requests: CPU in cores, memory in bytes, and numbers of devices."""

    pods: int
    requests: Mapping[str, Amount]


def totals(objects: Iterable[Mapping[str, Any]]) -> Totals:
    """Return the sums over all pods of objects, including pods that do not run at the same time."""
    all_pods = [pods for item in objects for pods in pods_of(item)]
    requests: dict[str, Amount] = {}
    for pods in all_pods:
        _add(requests, pod_requests(pods.spec), pods.count)
    return Totals(sum(pods.count for pods in all_pods), requests)


def amount(resource: str, value: Amount) -> str:
    """Return the text of an amount for messages. Memory is in the largest unit in which the amount is at least 1."""
    if resource not in _BINARY:
        return f"{float(value):g}"
    unit = 0
    while value >= 1024 ** (unit + 1) and unit + 1 < len(_UNITS):
        unit += 1
    return f"{round(float(value / 1024**unit), 2):g}{_UNITS[unit]}"


def _add(total: dict[str, Amount], requests: Mapping[str, Amount], times: int) -> None:
    for resource, value in requests.items():
        total[resource] = total.get(resource, 0) + times * value

"""Amounts of resources as whole numbers, in the units that the scheduler compares. CPU is in thousandths of a core.

See the function Resource.Add in https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/framework/types.go
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tfgen.kubernetes import quantity
from tfgen.kubernetes.pods import pod_requests
from tfgen.record import EMPTY

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

Counts: TypeAlias = Mapping[str, int]

PODS: Final = "pods"
_CPU: Final = "cpu"
_MILLI: Final = 1000


def counts_of(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Convert the quantities of resources, such as `status.allocatable` of a node, to whole numbers.

    Example: {"cpu": "500m", "memory": "1Ki"} becomes {"cpu": 500, "memory": 1024}.

    Raises:
        ValueError: a value is not a quantity.
    """
    return {resource: _count(resource, quantity.parse(value)) for resource, value in quantities.items()}


def counts_of_pod(spec: Mapping[str, Any], status: Mapping[str, Any] = EMPTY) -> dict[str, int]:
    """Return the amounts of resources that a pod uses on a node, without zeros.

    The amounts are the requests of the pod, and 1 for the resource `pods`. Example: {"pods": 1, "cpu": 500}.

    Args:
        spec: the PodSpec.
        status: the PodStatus of a running pod; empty for a pod that does not run yet.

    Raises:
        ValueError: an amount is not a quantity.
    """
    requests = {resource: _count(resource, value) for resource, value in pod_requests(spec, status).items()}
    return {PODS: 1} | {resource: value for resource, value in requests.items() if value > 0}


def amount_of(resource: str, number: int) -> Amount:
    """Convert a whole number to the usual unit of a resource. Only the amount of CPU changes.

    Example: 2000 thousandths of a core become 2 cores. Bytes and devices remain unchanged.
    """
    whole, remainder = divmod(number, _MILLI)
    if resource != _CPU:
        return number
    if not remainder:
        return whole
    from fractions import Fraction  # the import takes 10 ms, and most commands do not need it

    return Fraction(number, _MILLI)


def _count(resource: str, value: Amount) -> int:
    return math.ceil(value * _MILLI if resource == _CPU else value)

"""Amounts of resources as the scheduler compares them: whole numbers. The amount of CPU is in thousandths of a core.

See the function Resource.Add in https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/framework/types.go
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tfgen.kubernetes import quantity
from tfgen.kubernetes.pod_requests import pod_requests
from tfgen.record import EMPTY

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

Counts: TypeAlias = Mapping[str, int]

PODS: Final = "pods"
_CPU: Final = "cpu"
_MILLI: Final = 1000


def counts_of(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Convert `status.allocatable` of a node, as resource -> quantity, to amounts, as resource -> whole number.

    Raises:
        ValueError: a value is not a quantity.
    """
    return {resource: _count(resource, quantity.parse(value)) for resource, value in quantities.items()}


def counts_of_pod(spec: Mapping[str, Any], status: Mapping[str, Any] = EMPTY) -> dict[str, int]:
    """Return resource -> amount in use by a pod on a node: the requests, and 1 for the resource `pods`. Omit zeros.

    Args:
        spec: the PodSpec.
        status: the PodStatus of a running pod; empty for a pod that does not run yet.

    Raises:
        ValueError: an amount is not a quantity.
    """
    requests = {resource: _count(resource, value) for resource, value in pod_requests(spec, status).items()}
    return {PODS: 1} | {resource: value for resource, value in requests.items() if value > 0}


def amount_of(resource: str, number: int) -> Amount:
    """Convert an amount to the usual unit: thousandths of a core to cores. Bytes and devices remain unchanged."""
    whole, remainder = divmod(number, _MILLI)
    if resource != _CPU:
        return number
    if not remainder:
        return whole
    from fractions import Fraction  # the import takes 10 ms, and most commands do not need it

    return Fraction(number, _MILLI)


def _count(resource: str, value: Amount) -> int:
    return math.ceil(value * _MILLI if resource == _CPU else value)

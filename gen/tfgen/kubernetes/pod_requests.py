"""What a pod asks of a node, as the scheduler counts it.

PodRequests of https://github.com/kubernetes/component-helpers/blob/v0.36.3/resource/helpers.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tfgen.kubernetes import quantity

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

_OF_A_POD: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Amount]:
    """The amounts of each resource that a PodSpec asks for, its overhead included: CPU in cores, memory in bytes.

    What runs side by side is added up. An init container runs beside the sidecars that start before it; where such a
    moment needs more than the pod does later, the pod asks for that. What a pod asks for as a whole takes the place of
    what its containers do.
    """
    beside: dict[str, Amount] = {}
    sidecars: dict[str, Amount] = {}
    most: dict[str, Amount] = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum(sidecars, asked)
            beside = _sum(beside, asked)
            most = _most(most, sidecars)
        else:
            most = _most(most, _sum(asked, sidecars))
    for container in spec.get("containers") or ():
        beside = _sum(beside, _asked(container))
    of_containers = _most(most, beside)
    return _sum({**of_containers, **_of_whole(spec, of_containers)}, _amounts(spec.get("overhead")))


def _of_whole(spec: Mapping[str, Any], of_containers: Mapping[str, Amount]) -> dict[str, Amount]:
    """https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#pod-level-resource-specification.

    A limit alone is the request of a resource for which no container asks.
    """
    resources = spec.get("resources") or {}
    limits = {key: value for key, value in _amounts(resources.get("limits")).items() if key not in of_containers}
    amounts = {**limits, **_amounts(resources.get("requests"))}
    return {key: value for key, value in amounts.items() if key in _OF_A_POD or key.startswith(_HUGE_PAGES)}


def _asked(container: Mapping[str, Any]) -> dict[str, Amount]:
    """Requests; where there is only a limit, Kubernetes takes that for the request."""
    resources = container.get("resources") or {}
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(quantities: Mapping[str, Any] | None) -> dict[str, Amount]:
    return {resource: quantity.parse(value) for resource, value in (quantities or {}).items()}


def _sum(one: Mapping[str, Amount], other: Mapping[str, Amount]) -> dict[str, Amount]:
    return {**one, **{resource: one.get(resource, 0) + value for resource, value in other.items()}}


def _most(one: Mapping[str, Amount], other: Mapping[str, Amount]) -> dict[str, Amount]:
    return {**one, **{resource: max(one.get(resource, value), value) for resource, value in other.items()}}

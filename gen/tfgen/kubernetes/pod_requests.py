"""What a pod asks of a node, as the scheduler counts it.

PodRequests of https://github.com/kubernetes/component-helpers/blob/v0.36.3/resource/helpers.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tfgen.kubernetes import quantity
from tfgen.record import EMPTY

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

_OF_A_POD: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"


def pod_requests(spec: Mapping[str, Any], status: Mapping[str, Any] = EMPTY) -> dict[str, Amount]:
    """The amounts of each resource that a PodSpec asks for, its overhead included: CPU in cores, memory in bytes.

    What runs side by side is added up. An init container runs beside the sidecars that start before it; where such a
    moment needs more than the pod does later, the pod asks for that. What a pod asks for as a whole takes the place of
    what its containers do. While a running pod is resized, the larger of its old and its new requests counts.

    Args:
        spec: the PodSpec.
        status: the PodStatus of a pod that runs.
    """
    is_infeasible = _is_infeasible(status)
    states = {
        state["name"]: state
        for part in ("containerStatuses", "initContainerStatuses")
        for state in status.get(part) or ()
        if state.get("resources") is not None
    }

    def asked(container: Mapping[str, Any]) -> dict[str, Amount]:
        state = states.get(container.get("name", ""))
        requests = _asked(container)
        return _resized(requests, state, state.get("allocatedResources"), is_infeasible) if state else requests

    beside: dict[str, Amount] = {}
    sidecars: dict[str, Amount] = {}
    most: dict[str, Amount] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            requests = asked(container)
            sidecars = _sum(sidecars, requests)
            beside = _sum(beside, requests)
            most = _most(most, sidecars)
        else:
            most = _most(most, _sum(_asked(container), sidecars))
    for container in spec.get("containers") or ():
        beside = _sum(beside, asked(container))
    of_containers = _most(most, beside)
    of_pod = _of_whole(spec, of_containers)
    if of_pod and status.get("resources") is not None:
        resized = _resized(of_pod, status, status.get("allocatedResources"), is_infeasible)
        of_pod = {resource: resized.get(resource, value) for resource, value in of_pod.items()}
    return _sum({**of_containers, **of_pod}, _amounts(spec.get("overhead")))


def _resized(
    wanted: Mapping[str, Amount], state: Mapping[str, Any], allocated: Mapping[str, Any] | None, is_infeasible: bool
) -> dict[str, Amount]:
    """Return the requests that count while a resize is under way: determineEffectiveRequests of Kubernetes.

    Args:
        wanted: the requests of the spec.
        state: the status with the `resources` in force.
        allocated: the requests that the kubelet has admitted.
        is_infeasible: whether the kubelet has refused the requests of the spec.
    """
    current = _most(_amounts(state["resources"].get("requests")), _amounts(allocated))
    return current if is_infeasible else _most(wanted, current)


def _is_infeasible(status: Mapping[str, Any]) -> bool:
    """Return whether the kubelet has refused a resize for good: its node can never have the requests."""
    conditions = (item for item in status.get("conditions") or () if item.get("type") == "PodResizePending")
    return any(item.get("reason") == "Infeasible" for item in conditions)


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

"""The resource requests of a pod, as the scheduler counts them.

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
    """Return the requests of a pod, including the overhead of the pod, by resource.

    Example: {"cpu": 2, "memory": 4294967296, "nvidia.com/gpu": 1}. CPU is in cores, and memory is in bytes.

    The containers of a pod run in phases. In one phase for each init container, the init container runs together with
    the sidecars that are earlier in the list. In the last phase, all main containers run together with all sidecars.
    The request of a resource is the largest sum of a phase. Requests at the pod level replace this sum.

    During a resize of a running pod, the scheduler uses the larger of the old and the new request. If the kubelet has
    refused the new request, the scheduler uses the old request.

    Args:
        spec: the PodSpec.
        status: the PodStatus of a running pod.
    """
    is_infeasible = _is_infeasible(status)
    states = {
        state["name"]: state
        for part in ("containerStatuses", "initContainerStatuses")
        for state in status.get(part) or ()
        if state.get("resources") is not None
    }

    def effective_requests(container: Mapping[str, Any]) -> dict[str, Amount]:
        state = states.get(container.get("name", ""))
        requests = _requests(container)
        return _resized(requests, state, state.get("allocatedResources"), is_infeasible) if state else requests

    running: dict[str, Amount] = {}
    sidecars: dict[str, Amount] = {}
    most: dict[str, Amount] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            requests = effective_requests(container)
            sidecars = _sum(sidecars, requests)
            running = _sum(running, requests)
            most = _most(most, sidecars)
        else:
            most = _most(most, _sum(_requests(container), sidecars))
    for container in spec.get("containers") or ():
        running = _sum(running, effective_requests(container))
    of_containers = _most(most, running)
    of_pod = _pod_level_requests(spec, of_containers)
    if of_pod and status.get("resources") is not None:
        resized = _resized(of_pod, status, status.get("allocatedResources"), is_infeasible)
        of_pod = {resource: resized.get(resource, value) for resource, value in of_pod.items()}
    return _sum({**of_containers, **of_pod}, _amounts(spec.get("overhead")))


def _resized(
    requested: Mapping[str, Amount], state: Mapping[str, Any], allocated: Mapping[str, Any] | None, is_infeasible: bool
) -> dict[str, Amount]:
    """Return the requests that the scheduler uses during a resize (determineEffectiveRequests in Kubernetes).

    Args:
        requested: the requests of the spec.
        state: the status of the container or the pod, with the current `resources`.
        allocated: the requests that the kubelet has admitted.
        is_infeasible: whether the kubelet has refused the requests of the spec.
    """
    current = _most(_amounts(state["resources"].get("requests")), _amounts(allocated))
    return current if is_infeasible else _most(requested, current)


def _is_infeasible(status: Mapping[str, Any]) -> bool:
    """Return True if the kubelet has refused a resize permanently, because the node is too small for the requests."""
    conditions = (item for item in status.get("conditions") or () if item.get("type") == "PodResizePending")
    return any(item.get("reason") == "Infeasible" for item in conditions)


def _pod_level_requests(spec: Mapping[str, Any], of_containers: Mapping[str, Amount]) -> dict[str, Amount]:
    """Return the requests that the spec of a pod sets for the whole pod.

    A limit of the pod is the request if neither the pod nor a container sets a request.

    https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#pod-level-resource-specification.
    """
    resources = spec.get("resources") or {}
    limits = {key: value for key, value in _amounts(resources.get("limits")).items() if key not in of_containers}
    amounts = {**limits, **_amounts(resources.get("requests"))}
    return {key: value for key, value in amounts.items() if key in _OF_A_POD or key.startswith(_HUGE_PAGES)}


def _requests(container: Mapping[str, Any]) -> dict[str, Amount]:
    """Return the requests of a container. If a resource has only a limit, the limit is the request."""
    resources = container.get("resources") or {}
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(quantities: Mapping[str, Any] | None) -> dict[str, Amount]:
    return {resource: quantity.parse(value) for resource, value in (quantities or {}).items()}


def _sum(amounts: Mapping[str, Amount], added: Mapping[str, Amount]) -> dict[str, Amount]:
    return {**amounts, **{resource: amounts.get(resource, 0) + value for resource, value in added.items()}}


def _most(amounts: Mapping[str, Amount], added: Mapping[str, Amount]) -> dict[str, Amount]:
    return {**amounts, **{resource: max(amounts.get(resource, value), value) for resource, value in added.items()}}


def gpu_product(spec: Mapping[str, Any]) -> str:
    """Return the GPU product that the node selector of a pod names; empty if the selector names no product."""
    selector = spec.get("nodeSelector") or {}
    return next((str(value) for label, value in selector.items() if label.endswith("gpu.product")), "")

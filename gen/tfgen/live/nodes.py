"""The state of nodes, and the tasks on nodes that do not answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from tfgen.kubernetes.object import Object
from tfgen.live.tasks import ENDED, condition, task_name, task_state
from tfgen.record import EMPTY, Record

# -- states ------------------------------------------------------------------------------------------------------------


LEASE_NAMESPACE: Final = "kube-node-lease"
_DURATION: Final = 40
"""Seconds for which a lease is valid, unless the lease sets another duration."""


def ready_condition(node: Object) -> Mapping[str, Any]:
    """Return the condition Ready of a node; empty for a node whose kubelet has never reported."""
    conditions: list[Mapping[str, Any]] = (node.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == "Ready"), EMPTY)


def is_ready(node: Object) -> bool:
    """Test whether a node is ready."""
    return ready_condition(node).get("status") == "True"


def is_silent(node: Object) -> bool:
    """Test whether the kubelet of a node has sent no report for the grace period of the node controller."""
    return ready_condition(node).get("status") == "Unknown"


def sign_of_life(node: Object, lease: Object | None, now: datetime) -> str:
    """Return the reason why a node may still run its pods; empty for a node that does not answer.

    Args:
        node: the node.
        lease: the lease that the node's kubelet renews; None for a node without a lease.
        now: the time of the API server.
    """
    name = node["metadata"]["name"]
    if is_ready(node):
        return f"{name} is ready"
    if not is_silent(node):
        condition = ready_condition(node)
        reason = condition.get("message") or condition.get("reason") or "no message"
        return f"the kubelet of {name} answers, and reports that the node is not ready ({reason})"
    spec: Mapping[str, Any] = (lease or {}).get("spec") or {}
    if not spec.get("renewTime"):
        return ""
    seconds = (now - datetime.fromisoformat(spec["renewTime"])).total_seconds()
    is_old = seconds > (spec.get("leaseDurationSeconds") or _DURATION)
    return "" if is_old else f"the kubelet of {name} renewed its lease {max(seconds, 0):.0f} s ago"


# -- lost nodes --------------------------------------------------------------------------------------------------------


class LostNode(Record):
    """A node that is not ready, with the pods of a run on the node.

    Attributes:
        name: the name of the node.
        since: the time since which the node is not ready, in Kubernetes' format; empty without a condition Ready.
        message: the message of the node's condition Ready.
        is_silent: whether the kubelet does not answer.
        tasks: the names of the run's tasks on the node, such as `worker-1`.
        pods: the names of the pods of these tasks.
        gpus: the number of GPUs that the pods use.
        claims: the names of the claims that the pods mount.
    """

    name: str
    since: str
    message: str
    is_silent: bool
    tasks: tuple[str, ...]
    pods: tuple[str, ...]
    gpus: int
    claims: tuple[str, ...]


def holds_a_node(pod: Object) -> bool:
    """Test whether a pod is assigned to a node and has not ended."""
    return bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") not in ENDED


def doubtful_nodes(pods: Iterable[Object]) -> set[str]:
    """Return the names of the nodes that may be lost, according to the pods on each node.

    The node controller sets the condition Ready of the pods on a lost node to False, although ContainersReady is still
    True. A pod that is being deleted also makes its node doubtful.
    """
    return {pod["spec"]["nodeName"] for pod in pods if holds_a_node(pod) and _is_doubtful(pod)}


def lost_nodes(pods: Iterable[Object], nodes: Mapping[str, Object]) -> Iterator[LostNode]:
    """Yield each node that is not ready, if the node has pods of a run.

    Args:
        pods: the pods of the run.
        nodes: the nodes, by name.
    """
    on_nodes: dict[str, list[Object]] = {}
    for pod in filter(holds_a_node, pods):
        on_nodes.setdefault(pod["spec"]["nodeName"], []).append(pod)
    for name, on_node in sorted(on_nodes.items()):
        node = nodes.get(name)
        if node is not None and not is_ready(node):
            yield LostNode(
                name=name,
                since=ready_condition(node).get("lastTransitionTime") or "",
                message=ready_condition(node).get("message") or "",
                is_silent=is_silent(node),
                tasks=tuple(sorted(map(task_name, on_node))),
                pods=tuple(sorted(pod["metadata"]["name"] for pod in on_node)),
                gpus=sum(task_state(pod).gpus for pod in on_node),
                claims=tuple(sorted({claim for pod in on_node for claim in _claims(pod)})),
            )


def _is_doubtful(pod: Object) -> bool:
    is_marked = condition(pod, "Ready").get("status") == "False" and (
        condition(pod, "ContainersReady").get("status") == "True"
    )
    return is_marked or "deletionTimestamp" in pod["metadata"]


def _claims(pod: Object) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]

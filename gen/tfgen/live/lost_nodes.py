"""The pods of a run on nodes that are not ready.

No controller replaces such a pod: the API server waits until the kubelet confirms that the pod has ended, but the
kubelet does not answer (https://kubernetes.io/docs/concepts/architecture/nodes/#non-graceful-node-shutdown).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tfgen.kubernetes.object import Object
from tfgen.live.node_state import is_ready, is_silent, ready_condition
from tfgen.live.task_state import ENDED, condition, task_name, task_state
from tfgen.record import Record


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

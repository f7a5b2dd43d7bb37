"""The objects of a cluster on which the placement of pods depends: nodes, pods, claims, priority classes and others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tfgen.kubernetes.object import Object
from tfgen.record import EMPTY, Record
from tfgen.scheduling.amounts import Counts, counts_of, counts_of_pod
from tfgen.scheduling.anti_affinity import NAMESPACE_NAME

KINDS: Final[Mapping[str, str]] = {
    "Node": "v1",
    "Pod": "v1",
    "PersistentVolumeClaim": "v1",
    "PersistentVolume": "v1",
    "RuntimeClass": "node.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "Namespace": "v1",
    "CSINode": "storage.k8s.io/v1",
}
"""The kinds of objects that tfgen reads from a cluster, each with its API version."""

_ENDED: Final = ("Succeeded", "Failed")
_UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The priorities of the PriorityClasses that every cluster has.

https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/"""


class Node(Record):
    """A node and its free resources.

    Attributes:
        taints: the taints of the node, and the taint node.kubernetes.io/unschedulable for a cordoned node.
        free: the allocatable amounts minus the requests of the node's pods; negative if the pods request more.
        pods: the pods on the node, without the pods that have ended.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    free: Counts
    pods: tuple[Object, ...] = ()


class Cluster(Record):
    """The nodes of a cluster, and the objects that pods refer to.

    Attributes:
        waiting: the pods that wait for a node.
        claims: the PersistentVolumeClaims, by namespace and name. Example of a key: ("ml", "mnist-model").
        volumes: the PersistentVolumes, by name.
        runtime_classes: the RuntimeClasses, by name.
        priorities: the value of each PriorityClass, by name of the PriorityClass. Example: {"high": 1000}.
        default_priority: the priority of a pod without a PriorityClass.
        has_all_priorities: whether `priorities` contains every PriorityClass of the cluster.
        namespaces: the labels of each namespace, by name of the namespace.
        csi_nodes: the CSINode of each node, by name of the node.
    """

    nodes: tuple[Node, ...]
    waiting: tuple[Object, ...] = ()
    claims: Mapping[tuple[str, str], Object] = EMPTY
    volumes: Mapping[str, Object] = EMPTY
    runtime_classes: Mapping[str, Object] = EMPTY
    priorities: Mapping[str, int] = EMPTY
    default_priority: int = 0
    has_all_priorities: bool = False
    namespaces: Mapping[str, Mapping[str, str]] = EMPTY
    csi_nodes: Mapping[str, Object] = EMPTY

    def priority(self, spec: Mapping[str, Any]) -> int | None:
        """Return the priority of a pod, from its PodSpec; None if `priorities` lacks the PriorityClass of the pod."""
        if "priority" in spec:
            value: int = spec["priority"]
            return value
        name = spec.get("priorityClassName")
        return self.priorities.get(name) if name else self.default_priority


def cluster_of(objects: Iterable[Object]) -> Cluster:
    """Build a cluster from its objects. Objects of kinds that are not in `KINDS` are ignored."""
    by_kind: dict[str, list[Object]] = defaultdict(list)
    for item in objects:
        by_kind[item["kind"]].append(item)
    pods_by_node: dict[str, list[Object]] = defaultdict(list)
    for pod in by_kind["Pod"]:
        if (pod.get("status") or {}).get("phase") not in _ENDED:
            pods_by_node[pod["spec"].get("nodeName") or ""].append(pod)
    classes = by_kind["PriorityClass"]
    return Cluster(
        nodes=tuple(_node(item, pods_by_node[_name(item)]) for item in sorted(by_kind["Node"], key=_name)),
        waiting=tuple(pods_by_node[""]),
        claims={(namespace_of(item), _name(item)): item for item in by_kind["PersistentVolumeClaim"]},
        volumes={_name(item): item for item in by_kind["PersistentVolume"]},
        runtime_classes={_name(item): item for item in by_kind["RuntimeClass"]},
        priorities={**_SYSTEM_PRIORITIES, **{_name(item): item["value"] for item in classes}},
        default_priority=max((item["value"] for item in classes if item.get("globalDefault")), default=0),
        has_all_priorities={_name(item) for item in classes} >= _SYSTEM_PRIORITIES.keys(),
        namespaces={
            _name(item): {**(item["metadata"].get("labels") or {}), NAMESPACE_NAME: _name(item)}
            for item in by_kind["Namespace"]
        },
        csi_nodes={_name(item): item for item in by_kind["CSINode"]},
    )


def namespace_of(item: Object) -> str:
    """Return the namespace of an object; `default`, as in kubectl, for an object without a namespace."""
    namespace: str = item["metadata"].get("namespace") or "default"
    return namespace


def _name(item: Object) -> str:
    name: str = item["metadata"]["name"]
    return name


def _node(item: Object, pods: Sequence[Object]) -> Node:
    spec = item.get("spec") or {}
    free = counts_of((item.get("status") or {}).get("allocatable") or {})  # a new node has no allocatable amounts
    for pod in pods:
        for resource, value in counts_of_pod(pod["spec"], pod.get("status") or {}).items():
            free[resource] = free.get(resource, 0) - value
    taints = tuple(spec.get("taints") or ()) + ((_UNSCHEDULABLE,) if spec.get("unschedulable") else ())
    return Node(_name(item), item["metadata"].get("labels") or {}, taints, free, tuple(pods))

"""The objects of a cluster on which a plan depends: nodes, pods, claims, classes, quotas and others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object
from tfgen.record import EMPTY, Record
from tfgen.scheduling.pods import (
    NAMESPACE_NAME,
    NODE_ITSELF,
    Counts,
    HostPort,
    Term,
    counts_of,
    counts_of_pod,
    host_ports_of,
    terms_of,
)

KINDS: Final[Mapping[str, str]] = {
    "Node": "v1",
    "Pod": "v1",
    "Namespace": "v1",
    "ServiceAccount": "v1",
    "ResourceQuota": "v1",
    "LimitRange": "v1",
    "PersistentVolumeClaim": "v1",
    "PersistentVolume": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "DeviceClass": "resource.k8s.io/v1",
}
"""The kinds of objects that tfgen reads from a cluster, each with its API version."""

ENDED: Final = ("Succeeded", "Failed")
"""The phases of a pod that occupies no node any more."""
_UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The priorities of the PriorityClasses that every cluster has.

https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/"""

Key: TypeAlias = tuple[str, str]
"""The namespace of an object, empty for a kind without namespaces, and its name."""


class RunningPod(Record):
    """A pod on a node.

    Attributes:
        requests: the amounts of the node's resources that the pod uses.
        terms: the terms of the pod's required anti-affinity.
        claims: the names of the claims that the pod mounts.
        spec: the PodSpec.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    requests: Counts
    terms: tuple[Term, ...]
    claims: tuple[str, ...]
    host_ports: tuple[HostPort, ...]
    is_deleted: bool
    spec: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The namespace and the name, as in `ml/web-0`."""
        return f"{self.namespace}/{self.name}"


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
    pods: tuple[RunningPod, ...] = ()

    def domain(self, key: str) -> str | None:
        """Return the value of a topology key for the node; None if the node has no such label."""
        return self.name if key == NODE_ITSELF else self.labels.get(key)


class Cluster(Record):
    """The nodes of a cluster, and the objects that pods refer to.

    Attributes:
        waiting: the pods that wait for a node.
        objects: the objects of each kind in `KINDS`, except nodes and pods.
        known_kinds: the kinds of which `objects` has all objects of the cluster.
        unready: the names of the nodes that are left out, because they have no `status.allocatable`.
    """

    nodes: tuple[Node, ...]
    waiting: tuple[Object, ...] = ()
    objects: Mapping[str, Mapping[Key, Object]] = EMPTY
    known_kinds: frozenset[str] = frozenset()
    unready: tuple[str, ...] = ()

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Return an object; None if tfgen does not know the object."""
        return self.objects.get(kind, EMPTY).get((namespace, name))

    def of_kind(self, kind: str, namespace: str = "") -> list[Object]:
        """Return the objects of a kind in a namespace, sorted by name."""
        items = self.objects.get(kind, EMPTY).items()
        return [item for (within, _), item in sorted(items, key=lambda pair: pair[0]) if within == namespace]

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of each known namespace, by name of the namespace."""
        return {
            name: {**(item["metadata"].get("labels") or {}), NAMESPACE_NAME: name}
            for (_, name), item in self.objects.get("Namespace", EMPTY).items()
        }

    def priority_class(self, spec: Mapping[str, Any]) -> Object | None:
        """Return the PriorityClass of a PodSpec, or else the default one; None without a known class."""
        name = spec.get("priorityClassName")
        if name:
            system = {"value": _SYSTEM_PRIORITIES[name]} if name in _SYSTEM_PRIORITIES else None
            return self.find("PriorityClass", name) or system
        defaults = [item for item in self.of_kind("PriorityClass") if item.get("globalDefault")]
        return max(defaults, key=lambda item: int(item["value"]), default=None)

    def priority(self, spec: Mapping[str, Any]) -> int | None:
        """Return the priority of a pod, from its PodSpec; None if the PriorityClass of the pod is not known."""
        if "priority" in spec:
            return int(spec["priority"])
        item = self.priority_class(spec)
        if item is None:
            return None if spec.get("priorityClassName") else 0
        return int(item["value"])


def cluster_of(objects: Iterable[Object], known_kinds: Collection[str] = ()) -> Cluster:
    """Build a cluster from its objects. Objects of kinds that are not in `KINDS` are ignored.

    Args:
        objects: the objects. Of two objects with the same kind and name, the last one counts.
        known_kinds: the kinds of which `objects` has all objects.

    Raises:
        TfgenError: a node or a pod does not have the fields that Kubernetes requires.
    """
    by_kind: dict[str, dict[Key, Object]] = {kind: {} for kind in KINDS}
    for item in objects:
        if item["kind"] in KINDS:
            by_kind[item["kind"]][_key(item)] = item
    nodes, pods = by_kind.pop("Node"), by_kind.pop("Pod")
    pods_by_node: dict[str, list[RunningPod]] = defaultdict(list)
    waiting = []
    for pod in pods.values():
        if (pod.get("status") or {}).get("phase") in ENDED:
            continue
        record = _read(_running_pod, pod)
        if node := pod["spec"].get("nodeName"):
            pods_by_node[node].append(record)
        else:
            waiting.append(pod)
    unready = {name for (_, name), item in nodes.items() if not (item.get("status") or {}).get("allocatable")}
    return Cluster(
        nodes=tuple(
            _read(_node, item, pods_by_node[name])
            for (_, name), item in sorted(nodes.items(), key=lambda pair: pair[0])
            if name not in unready
        ),
        waiting=tuple(waiting),
        objects=by_kind,
        known_kinds=frozenset(known_kinds),
        unready=tuple(sorted(unready)),
    )


def known_kinds_of(objects: Iterable[Object]) -> frozenset[str]:
    """Return the kinds of which a file certainly has all objects of the cluster.

    A kind is known if the file has the objects that every cluster has. If these are all kinds of such objects, the user
    has listed all kinds.
    """
    names: dict[str, set[str]] = defaultdict(set)
    for item in objects:
        names[item["kind"]].add(item["metadata"]["name"])
    of_every_cluster = {
        "Namespace": {"default"} <= names["Namespace"],
        "ServiceAccount": "default" in names["ServiceAccount"],
        "PriorityClass": names["PriorityClass"] >= _SYSTEM_PRIORITIES.keys(),
    }
    if all(of_every_cluster.values()):
        return frozenset(KINDS)
    complete_kinds = {kind for kind, is_known in of_every_cluster.items() if is_known}
    return frozenset(complete_kinds | ({"StorageClass"} if names["StorageClass"] else set()))


def namespace_of(item: Object) -> str:
    """Return the namespace of an object; `default`, as in kubectl, for an object without a namespace."""
    namespace: str = item["metadata"].get("namespace") or "default"
    return namespace


def claim_names(spec: Mapping[str, Any], pod: str) -> list[str]:
    """Return the names of the claims that a pod mounts, from its PodSpec and its name."""
    names = []
    for volume in spec.get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif volume.get("ephemeral"):
            names.append(f"{pod}-{volume['name']}")
    return names


_NAMESPACED: Final = ("Pod", "ServiceAccount", "ResourceQuota", "LimitRange", "PersistentVolumeClaim")


def _key(item: Object) -> Key:
    return namespace_of(item) if item["kind"] in _NAMESPACED else "", item["metadata"]["name"]


def _read(build: Any, item: Object, *context: Any) -> Any:
    """Build a record from an object of the cluster.

    Raises:
        TfgenError: the object does not have the fields that Kubernetes requires.
    """
    try:
        return build(item, *context)
    except (AttributeError, TypeError):
        reason = "a field has a value of a wrong type"
    except KeyError as error:
        reason = f"the field {error} is missing"
    except ValueError as error:
        reason = str(error)
    raise TfgenError(f"the {item['kind']} {item['metadata']['name']} is not valid: {reason}")


def _running_pod(item: Object) -> RunningPod:
    metadata, spec = item["metadata"], item["spec"]
    labels, namespace = metadata.get("labels") or {}, namespace_of(item)
    return RunningPod(
        name=metadata["name"],
        namespace=namespace,
        labels=labels,
        requests=counts_of_pod(spec, item.get("status") or {}),
        terms=terms_of(spec, labels, namespace) if spec.get("affinity") else (),
        claims=tuple(claim_names(spec, metadata["name"])),
        host_ports=host_ports_of(spec),
        is_deleted=bool(metadata.get("deletionTimestamp")),
        spec=spec,
    )


def _node(item: Object, pods: Sequence[RunningPod]) -> Node:
    spec = item.get("spec") or {}
    free = counts_of(item["status"]["allocatable"])
    for pod in pods:
        for resource, value in pod.requests.items():
            free[resource] = free.get(resource, 0) - value
    taints = tuple(spec.get("taints") or ()) + ((_UNSCHEDULABLE,) if spec.get("unschedulable") else ())
    return Node(item["metadata"]["name"], item["metadata"].get("labels") or {}, taints, free, tuple(pods))

"""The objects of a cluster on which a plan depends: nodes, pods, claims, classes, quotas and others."""

from __future__ import annotations

import functools
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.kubernetes import quantity
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
from tfgen.schema import file as schema_file

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
    **dict.fromkeys(("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"), "resource.k8s.io/v1"),
}
"""The kinds of objects that tfgen reads from a cluster, each with its API version."""

_ENDED: Final = ("Succeeded", "Failed")
"""The phases of a pod that occupies no node any more."""
_UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The priorities of the PriorityClasses that every cluster has.

https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/"""

NOT_FOUND: Final = "in the cluster or in the file of --nodes"
"""Where tfgen looks for an object of the cluster, in words."""

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
        gone: the namespace and the name of each pod that has ended, or that a pod of the plan replaces.
    """

    nodes: tuple[Node, ...]
    waiting: tuple[Object, ...] = ()
    objects: Mapping[str, Mapping[Key, Object]] = EMPTY
    known_kinds: frozenset[str] = frozenset()
    unready: tuple[str, ...] = ()
    gone: frozenset[Key] = frozenset()

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
        """Return the PriorityClass of a PodSpec, or else the default one; None without a known class.

        Of several default classes, Kubernetes takes the one with the lowest value.
        """
        name = spec.get("priorityClassName")
        if name:
            system = {"value": _SYSTEM_PRIORITIES[name]} if name in _SYSTEM_PRIORITIES else None
            return self.find("PriorityClass", name) or system
        defaults = [item for item in self.of_kind("PriorityClass") if item.get("globalDefault")]
        return min(defaults, key=lambda item: int(item["value"]), default=None)

    def priority(self, spec: Mapping[str, Any]) -> int | None:
        """Return the priority of a pod, from its PodSpec; None if the PriorityClass of the pod is not known."""
        if "priority" in spec:
            return int(spec["priority"])
        item = self.priority_class(spec)
        if item is None:
            return None if spec.get("priorityClassName") else 0
        return int(item["value"])


def cluster_of(objects: Iterable[Object], known_kinds: Collection[str] = (), replaced: Collection[Key] = ()) -> Cluster:
    """Build a cluster from its objects. Objects of kinds that are not in `KINDS` are ignored.

    Args:
        objects: the objects. Of two objects with the same kind and name, the last one counts.
        known_kinds: the kinds of which `objects` has all objects.
        replaced: the namespace and the name of each pod that a pod of the plan replaces. `objects` has none of them.

    Raises:
        TfgenError: a node or a pod does not have the fields that Kubernetes requires, or a field has a wrong type.
    """
    by_kind: dict[str, dict[Key, Object]] = {kind: {} for kind in KINDS}
    for item in objects:
        if item["kind"] in KINDS:
            by_kind[item["kind"]][read(_key, item)] = item
    nodes, pods = by_kind.pop("Node"), by_kind.pop("Pod")
    pods_by_node: dict[str, list[RunningPod]] = defaultdict(list)
    waiting, gone = [], {*replaced}
    for key, pod in pods.items():
        if is_ended(pod):
            gone.add(key)
            continue
        record = read(_running_pod, pod)
        if node := pod["spec"].get("nodeName"):
            pods_by_node[node].append(record)
        else:
            waiting.append(pod)
    unready = {name for (_, name), item in nodes.items() if not (item.get("status") or {}).get("allocatable")}
    ready = [(name, item) for (_, name), item in sorted(nodes.items(), key=lambda pair: pair[0]) if name not in unready]
    return Cluster(
        nodes=tuple(read(_node, item, pods_by_node[name]) for name, item in ready),
        waiting=tuple(waiting),
        objects=by_kind,
        known_kinds=frozenset(known_kinds),
        unready=tuple(sorted(unready)),
        gone=frozenset(gone),
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
        # A file from before tfgen counted devices has DeviceClasses, but no ResourceSlices.
        return frozenset(KINDS) - (frozenset() if names["ResourceSlice"] else {"ResourceSlice"})
    complete_kinds = {kind for kind, is_known in of_every_cluster.items() if is_known}
    return frozenset(complete_kinds | ({"StorageClass"} if names["StorageClass"] else set()))


def is_ended(pod: Object) -> bool:
    """Test whether a pod occupies no node any more."""
    return (pod.get("status") or {}).get("phase") in _ENDED


def namespace_of(item: Object) -> str:
    """Return the namespace of an object; `default`, as in kubectl, for an object without a namespace.

    Raises:
        TypeError: the namespace is not a text.
    """
    namespace = item["metadata"].get("namespace") or "default"
    if not isinstance(namespace, str):
        raise TypeError("namespace")
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


_NAMESPACED: Final = (
    *("Pod", "ServiceAccount", "ResourceQuota", "LimitRange", "PersistentVolumeClaim"),
    *("ResourceClaim", "ResourceClaimTemplate"),
)


def _key(item: Object) -> Key:
    """Return the key of an object.

    Raises:
        ValueError: a field has a wrong type, or a required field is missing. The text of the error names the field.
    """
    _check(item, item["kind"] if item["kind"] in _types() else "Object", ())
    return namespace_of(item) if item["kind"] in _NAMESPACED else "", item["metadata"]["name"]


def read(build: Any, item: Object, *context: Any) -> Any:
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


# A file of nodes may be written by hand, so the API server has not checked its objects. The file cluster.fields.json
# has the types of the fields that a plan reads from each kind; the module `devices` reads all other fields of the kinds
# of dynamic resource allocation. Later steps read the fields without a test.


@functools.cache
def _types() -> Mapping[str, Mapping[str, Any]]:
    types: Mapping[str, Mapping[str, Any]] = json.loads(schema_file.text("cluster.fields.json"))
    return types


def _check(value: Any, type_name: str, path: tuple[Any, ...]) -> None:
    """Check the types of a value and of the values inside. A field with the value null has any type.

    Args:
        value: the value.
        type_name: the name of a type in cluster.fields.json, such as `Container`, `[Container]` for a list, `{text}`
            for a map of texts, or the name of a scalar type.
        path: a pair of the path of the parent and the key of the value; empty for the object. A file of nodes has many
            pods, so the check must be fast.
    """
    if type_name == "quantity":
        quantity.parse(value)
    elif type_name in ("text", "number"):
        _require(type(value) is int if type_name == "number" else isinstance(value, str), path)
    elif type_name.startswith("["):
        _require(isinstance(value, list | tuple), path)
        for index, item in enumerate(value):
            _check(item, type_name[1:-1], (path, index))
    else:
        _require(isinstance(value, (dict, Mapping)), path)
        of_all = type_name[1:-1] if type_name.startswith("{") else ""
        record = _types().get(type_name, EMPTY)
        for name in record.get("required", ()):
            if value.get(name) is None:
                raise ValueError(f"the field {_field_name((path, name))} is missing")
        types = record.get("fields", EMPTY)
        for key, item in value.items():
            of_field = types.get(key, of_all)
            if of_field and item is not None:
                _check(item, of_field, (path, key))


def _require(is_right: bool, path: tuple[Any, ...]) -> None:
    if not is_right:
        raise ValueError(f"the field {_field_name(path)} has a value of a wrong type")


def _field_name(path: tuple[Any, ...]) -> str:
    if not path:
        return ""
    parent, key = _field_name(path[0]), path[1]
    return f"{parent}[{key}]" if isinstance(key, int) else f"{parent}.{key}".removeprefix(".")


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


ZONE: Final = "topology.kubernetes.io/zone"
CsiVolume: TypeAlias = tuple[str, str]
"""The name of a CSI driver, and the handle with which the driver identifies a volume."""

_ONE_POD: Final = "ReadWriteOncePod"
_SHARED: Final = ("ReadWriteMany", "ReadOnlyMany")
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_NEW: Final = "new claim "
"""The beginning of the handle of a volume that does not exist yet. No CSI driver has such a handle."""
_CSI: Final = ("spec", "csi")


class Claim(Record):
    """A claim that pods mount, with its state in the cluster.

    Attributes:
        volume: the PersistentVolume of the claim, or the volume that the class of a new claim creates; None if the
            claim has no usable or known volume.
        obstacle: the reason why no pod with the claim can start, in words; empty if a pod can start.
        doubt: the reason why tfgen cannot decide if a pod with the claim can start, in words; empty if tfgen can
            decide.
        assumption: what tfgen assumes about the claim, in words; empty if tfgen knows all objects.
    """

    volume: Object | None = None
    obstacle: str = ""
    doubt: str = ""
    assumption: str = ""


def claims_of(spec: Mapping[str, Any], namespace: str, pods: int, cluster: Cluster) -> Iterator[Claim]:
    """Yield the claims that the equal pods of a PodSpec mount, with the state of each claim in the cluster.

    Args:
        spec: the PodSpec.
        namespace: the namespace of the pods.
        pods: the number of pods that mount each claim.
        cluster: the cluster, together with the claims that the planned runs create.
    """
    for volume in spec.get("volumes") or ():
        if "ephemeral" in volume:
            claim_spec = data_path.at(volume, ("ephemeral", "volumeClaimTemplate", "spec")) or {}
            yield _new_claim(f"of the ephemeral volume {volume['name']}", namespace, claim_spec, 1, cluster)
        if name := (volume.get("persistentVolumeClaim") or {}).get("claimName"):
            yield _claim(name, namespace, pods, cluster)


def _claim(name: str, namespace: str, pods: int, cluster: Cluster) -> Claim:
    claim = cluster.find("PersistentVolumeClaim", name, namespace)
    if claim is None and "PersistentVolumeClaim" in cluster.known_kinds:
        return Claim(obstacle=f"the PersistentVolumeClaim {name} does not exist")
    if claim is None:
        return Claim(doubt=f"tfgen finds no PersistentVolumeClaim {name} {NOT_FOUND}")
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    phase, volume_name = status.get("phase"), spec.get("volumeName")
    volume = cluster.find("PersistentVolume", volume_name or "")
    if claim["metadata"].get("deletionTimestamp"):
        return Claim(obstacle=f"the claim {name} is being deleted")
    if phase == "Lost":
        return Claim(obstacle=f"the claim {name} has lost its volume")
    if not volume_name:
        new = _new_claim(name, namespace, spec, pods, cluster)
        is_stuck = phase and (new.assumption or not _is_late(_class(spec.get("storageClassName"), cluster)))
        return Claim(doubt=f"the claim {name} has no PersistentVolume yet") if is_stuck and not new.obstacle else new
    if volume and not _belongs_to(volume, claim):
        owner = volume["spec"]["claimRef"]
        title = f"{owner.get('namespace')}/{owner.get('name')}"
        return Claim(obstacle=f"the volume {volume_name} of the claim {name} belongs to the claim {title}")
    if phase and phase != "Bound":
        return Claim(obstacle=f"the claim {name} is {phase} instead of Bound")
    if volume is None and "PersistentVolume" in cluster.known_kinds:
        return Claim(obstacle=f"the PersistentVolume {volume_name} of the claim {name} does not exist")
    if volume is None:
        return Claim(doubt=f"tfgen finds no PersistentVolume {volume_name}, which the claim {name} uses, {NOT_FOUND}")
    is_for_one_pod = _ONE_POD in ((volume.get("spec") or {}).get("accessModes") or ())
    doubt = f"only one pod at a time may mount the claim {name} ({_ONE_POD})" if is_for_one_pod else ""
    return Claim(volume=volume, doubt=doubt)


def _belongs_to(volume: Object, claim: Object) -> bool:
    """Test whether a volume belongs to the given claim or to no claim.

    A deleted claim of the same name may own the volume.
    """
    owner = volume["spec"].get("claimRef")
    if not owner:
        return True
    names = (owner.get("namespace"), owner.get("name"))
    uids = {uid for uid in (owner.get("uid"), claim["metadata"].get("uid")) if uid}
    return names == (namespace_of(claim), claim["metadata"]["name"]) and len(uids) < 2


def _new_claim(name: str, namespace: str, spec: Mapping[str, Any], pods: int, cluster: Cluster) -> Claim:
    """Return a claim without a volume. The class of the claim creates the volume.

    https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode
    """
    class_name = spec.get("storageClassName")
    storage_class = _class(class_name, cluster) if class_name != "" else None
    if storage_class:
        class_name = storage_class["metadata"]["name"]
    volumes = [item for item in cluster.of_kind("PersistentVolume") if _is_available(item, class_name)]
    if volumes or class_name == "":
        return Claim(doubt=f"the claim {name} has no PersistentVolume yet")
    if storage_class is None and "StorageClass" not in cluster.known_kinds:
        return Claim(assumption=f"the StorageClass {class_name or 'of the cluster'} binds the new claim {name}")
    if storage_class is None and class_name:
        return Claim(obstacle=f"the StorageClass {class_name} of the claim {name} does not exist")
    if storage_class is None:
        return Claim(obstacle=f"the claim {name} names no StorageClass, and the cluster has no default StorageClass")
    if storage_class.get("provisioner") == _NO_PROVISIONER:
        return Claim(obstacle=f"no PersistentVolume of the StorageClass {class_name} is free for the claim {name}")
    is_shared = not {*_SHARED}.isdisjoint(spec.get("accessModes") or ())
    zones = {node.labels[ZONE] for node in cluster.nodes if ZONE in node.labels}
    doubt = ""
    if _ONE_POD in (spec.get("accessModes") or ()) and pods > 1:
        doubt = f"only one pod at a time may mount the claim {name} ({_ONE_POD})"
    elif not is_shared and len(zones) > 1 and not (_is_late(storage_class) and pods == 1):
        doubt = f"the StorageClass {class_name} chooses the zone of the claim {name}"
        doubt += ", and the pods need room in this zone"
    return Claim(volume=_future_volume(name, namespace, storage_class), doubt=doubt)


def _is_late(storage_class: Object | None) -> bool:
    return (storage_class or {}).get("volumeBindingMode") == "WaitForFirstConsumer"


def _class(name: str | None, cluster: Cluster) -> Object | None:
    """Return a StorageClass. Without a name, return the newest default class."""
    if name:
        return cluster.find("StorageClass", name)
    path = ("metadata", "annotations", _DEFAULT)
    defaults = [item for item in cluster.of_kind("StorageClass") if data_path.at(item, path) == "true"]
    return max(defaults, key=lambda item: str(item["metadata"].get("creationTimestamp", "")), default=None)


def claim_class(spec: Mapping[str, Any], cluster: Cluster) -> str | None:
    """Return the name of the StorageClass of a new claim; empty for no class, and None for an unknown default class."""
    name: str | None = spec.get("storageClassName")
    default = _class(None, cluster) if name is None else None
    if default:
        name = default["metadata"]["name"]
    return "" if name is None and "StorageClass" in cluster.known_kinds else name


def _is_available(volume: Object, class_name: str | None) -> bool:
    """Test whether a claim with a StorageClass may get an existing volume."""
    spec, phase = volume.get("spec") or {}, (volume.get("status") or {}).get("phase", "Available")
    is_free = not spec.get("claimRef") and phase == "Available"
    return is_free and (spec.get("storageClassName") or "") == (class_name or "")


def _future_volume(claim: str, namespace: str, storage_class: Object) -> Object:
    """Return the PersistentVolume that a StorageClass creates for a claim, as far as the scheduler knows it."""
    terms = [
        {"matchExpressions": [{**item, "operator": "In"} for item in term.get("matchLabelExpressions") or ()]}
        for term in storage_class.get("allowedTopologies") or ()
    ]
    csi = {"driver": storage_class.get("provisioner", ""), "volumeHandle": f"{_NEW}{namespace}/{claim}"}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}
    return {"metadata": {"name": f"of the claim {claim}"}, "spec": {"csi": csi, **affinity}}


class NodeVolumes(Record):
    """The volumes of the pods on a node.

    Attributes:
        csi_node: the CSINode of the node; None if tfgen does not know the CSINode.
        attached: the volumes that a CSI driver serves, each as a pair of the driver and the handle of the volume.
            Example: {("ebs.csi.aws.com", "vol-0a1b")}.
        missing: the `NAMESPACE/NAME` of each claim whose volume tfgen does not know.
    """

    node: str
    csi_node: Object | None
    attached: frozenset[CsiVolume]
    missing: tuple[str, ...]

    def exceeded(self, volumes: frozenset[CsiVolume], missing: int = 0) -> str:
        """Return the first driver whose limit the node exceeds with additional volumes; empty if all volumes fit.

        Args:
            volumes: the additional volumes.
            missing: the number of volumes on the node whose driver is not known. Any of these volumes may belong to the
                driver.
        """
        drivers = data_path.at(self.csi_node or {}, ("spec", "drivers")) or ()
        limits = {item["name"]: (item.get("allocatable") or {}).get("count") for item in drivers}
        numbers = Counter(driver for driver, _ in self.attached | volumes)
        for driver in sorted({driver for driver, _ in volumes}):
            limit = limits.get(driver)
            if limit is not None and numbers[driver] + missing > limit:
                return driver
        return ""


def csi_volumes(volumes: Iterable[Object]) -> frozenset[CsiVolume]:
    """Return the CSI driver and the handle of each PersistentVolume that a CSI driver serves."""
    sources: Iterator[Mapping[str, Any] | None] = (data_path.at(volume, _CSI) for volume in volumes)
    return frozenset((source["driver"], source["volumeHandle"]) for source in sources if source)


def is_new(volume: CsiVolume) -> bool:
    """Test whether a volume does not exist yet, because the class of a new claim creates the volume."""
    return volume[1].startswith(_NEW)


def node_volumes(cluster: Cluster, node: Node) -> NodeVolumes:
    """Return the volumes that the pods on a node mount."""
    bound: list[Object] = []
    missing: dict[str, None] = {}
    for pod in node.pods:
        for name in pod.claims:
            claim = cluster.find("PersistentVolumeClaim", name, pod.namespace) or {}
            volume = cluster.find("PersistentVolume", (claim.get("spec") or {}).get("volumeName") or "")
            if volume is None:
                missing[f"{pod.namespace}/{name}"] = None
            else:
                bound.append(volume)
    return NodeVolumes(node.name, cluster.find("CSINode", node.name), csi_volumes(bound), tuple(missing))

"""The claims that pods mount. The volume of a claim limits the nodes of a pod. Some claims prevent the start of a pod.

See the plugins VolumeBinding, VolumeZone and NodeVolumeLimits of the scheduler:
https://github.com/kubernetes/kubernetes/tree/v1.36.3/pkg/scheduler/framework/plugins
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.scheduling.cluster import Cluster, Node, namespace_of

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
            template = data_path.at(volume, ("ephemeral", "volumeClaimTemplate")) or {}
            yield _new_claim(
                f"of the ephemeral volume {volume['name']}", namespace, template.get("spec") or {}, 1, cluster
            )
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if name:
            claim = cluster.find("PersistentVolumeClaim", name, namespace)
            yield _claim(name, namespace, claim, pods, cluster)


def _claim(name: str, namespace: str, claim: Object | None, pods: int, cluster: Cluster) -> Claim:
    if claim is None and "PersistentVolumeClaim" in cluster.known_kinds:
        return Claim(obstacle=f"the PersistentVolumeClaim {name} does not exist")
    if claim is None:
        return Claim(doubt=f"tfgen finds no PersistentVolumeClaim {name} in the cluster or in the file of --nodes")
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
        doubt = f"tfgen finds no PersistentVolume {volume_name}, which the claim {name} uses"
        return Claim(doubt=f"{doubt}, in the cluster or in the file of --nodes")
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
        doubt = (
            f"the StorageClass {class_name} chooses the zone of the claim {name}, and the pods need room in this zone"
        )
    return Claim(volume=_future_volume(name, namespace, storage_class), doubt=doubt)


def _is_late(storage_class: Object | None) -> bool:
    return (storage_class or {}).get("volumeBindingMode") == "WaitForFirstConsumer"


def _class(name: str | None, cluster: Cluster) -> Object | None:
    """Return a StorageClass. Without a name, return the newest default class."""
    if name:
        return cluster.find("StorageClass", name)
    defaults = [
        item
        for item in cluster.of_kind("StorageClass")
        if (item["metadata"].get("annotations") or {}).get(_DEFAULT) == "true"
    ]
    return max(defaults, key=lambda item: str(item["metadata"].get("creationTimestamp", "")), default=None)


def _is_available(volume: Object, class_name: str | None) -> bool:
    """Test whether a claim with a StorageClass may get an existing volume."""
    spec, phase = volume.get("spec") or {}, (volume.get("status") or {}).get("phase", "Available")
    return (
        (spec.get("storageClassName") or "") == (class_name or "") and not spec.get("claimRef") and phase == "Available"
    )


def _future_volume(claim: str, namespace: str, storage_class: Object) -> Object:
    """Return the PersistentVolume that a StorageClass creates for a claim, as far as the scheduler knows it."""
    terms = [
        {"matchExpressions": [{**item, "operator": "In"} for item in term.get("matchLabelExpressions") or ()]}
        for term in storage_class.get("allowedTopologies") or ()
    ]
    csi = {"driver": storage_class.get("provisioner", ""), "volumeHandle": f"{_NEW}{namespace}/{claim}"}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}
    return {"metadata": {"name": f"of the claim {claim}"}, "spec": {"csi": csi, **affinity}}


# -- limits ------------------------------------------------------------------------------------------------------------
#
# The maximum number of volumes of a CSI driver on a node: https://kubernetes.io/docs/concepts/storage/storage-limits/


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

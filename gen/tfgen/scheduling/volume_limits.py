"""Maximum number of volumes of a CSI driver on a node. The scheduler's plugin NodeVolumeLimits applies the same limit.

https://kubernetes.io/docs/concepts/storage/storage-limits/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.scheduling.cluster import Cluster, Node, namespace_of

CsiVolume: TypeAlias = tuple[str, str]
"""The name of a CSI driver, and the handle with which the driver identifies a volume."""

_CSI: Final = ("spec", "csi")


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

    def limit(self, driver: str) -> int | None:
        """Return the maximum number of a driver's volumes on the node; None without a known limit."""
        drivers = data_path.at(self.csi_node or {}, ("spec", "drivers")) or ()
        counts = ((item.get("allocatable") or {}).get("count") for item in drivers if item.get("name") == driver)
        return next(counts, None)

    def exceeded(self, volumes: frozenset[CsiVolume], missing: int = 0) -> str:
        """Return the first driver whose limit the node exceeds with additional volumes; empty if all volumes fit.

        Args:
            volumes: the additional volumes.
            missing: the number of volumes on the node whose driver is not known. Any of these volumes may belong to the
                driver.
        """
        numbers = Counter(driver for driver, _ in self.attached | volumes)
        for driver in sorted({driver for driver, _ in volumes}):
            limit = self.limit(driver)
            if limit is not None and numbers[driver] + missing > limit:
                return driver
        return ""


def csi_volumes(volumes: Iterable[Object]) -> frozenset[CsiVolume]:
    """Return the CSI driver and the handle of each PersistentVolume that a CSI driver serves."""
    sources: Iterator[Mapping[str, Any] | None] = (data_path.at(volume, _CSI) for volume in volumes)
    return frozenset((source["driver"], source["volumeHandle"]) for source in sources if source)


def node_volumes(cluster: Cluster, node: Node) -> NodeVolumes:
    """Return the volumes that the pods on a node mount."""
    bound: list[Object] = []
    missing: dict[str, None] = {}
    for pod in node.pods:
        for name in _claim_names(pod):
            claim = cluster.claims.get((namespace_of(pod), name))
            volume = cluster.volumes.get((claim or {}).get("spec", {}).get("volumeName") or "")
            if volume is None:
                missing[f"{namespace_of(pod)}/{name}"] = None
            else:
                bound.append(volume)
    return NodeVolumes(node.name, cluster.csi_nodes.get(node.name), csi_volumes(bound), tuple(missing))


def _claim_names(pod: Object) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"]
        elif volume.get("ephemeral"):
            yield f"{pod['metadata']['name']}-{volume['name']}"

"""The claims that pods mount. The volume of a claim limits the nodes of a pod. Some claims prevent the start of a pod.

See the plugins VolumeBinding and VolumeZone of the scheduler:
https://github.com/kubernetes/kubernetes/tree/v1.36.3/pkg/scheduler/framework/plugins
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.scheduling.cluster import Cluster, namespace_of

_BOUND: Final = "Bound"
_ONE_POD: Final = "ReadWriteOncePod"


class Claim(Record):
    """A claim that pods mount, with its state in the cluster.

    Attributes:
        volume: the PersistentVolume of the claim; None if the claim has no usable or known volume.
        obstacle: the reason why no pod with the claim can start, in words; empty if a pod can start.
        doubt: the reason why tfgen cannot decide if a pod with the claim can start, in words; empty if tfgen can
            decide.
    """

    volume: Object | None = None
    obstacle: str = ""
    doubt: str = ""


def claims_of(spec: Mapping[str, Any], namespace: str, cluster: Cluster) -> Iterator[Claim]:
    """Yield the claims that a PodSpec in a namespace mounts, with the state of each claim in the cluster."""
    for volume in spec.get("volumes") or ():
        if "ephemeral" in volume:
            doubt = f"tfgen does not know the claims of the ephemeral volume {volume['name']}"
            yield Claim(doubt=f"{doubt}, because Kubernetes creates the claims together with the pods")
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if name:
            yield _claim(name, namespace, cluster)


def _claim(name: str, namespace: str, cluster: Cluster) -> Claim:
    claim = cluster.claims.get((namespace, name))
    if claim is None:
        return Claim(doubt=f"tfgen finds no PersistentVolumeClaim {name} in the cluster or in the file of --nodes")
    phase = (claim.get("status") or {}).get("phase")
    volume_name = (claim.get("spec") or {}).get("volumeName")
    volume = cluster.volumes.get(volume_name or "")
    if claim["metadata"].get("deletionTimestamp"):
        return Claim(obstacle=f"the claim {name} is being deleted")
    if phase == "Lost":
        return Claim(obstacle=f"the claim {name} has lost its volume")
    if not volume_name:
        return Claim(doubt=f"the claim {name} has no PersistentVolume yet")
    if volume and not _belongs_to(volume, claim):
        owner = volume["spec"]["claimRef"]
        title = f"{owner.get('namespace')}/{owner.get('name')}"
        return Claim(obstacle=f"the volume {volume_name} of the claim {name} belongs to the claim {title}")
    if phase and phase != _BOUND:
        return Claim(obstacle=f"the claim {name} is {phase} instead of Bound")
    if volume is None:
        doubt = f"tfgen finds no PersistentVolume {volume_name}, which the claim {name} uses"
        return Claim(doubt=f"{doubt}, in the cluster or in the file of --nodes")
    return Claim(volume=volume, doubt=_doubt(name, volume))


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


def _doubt(name: str, volume: Object) -> str:
    spec = volume.get("spec") or {}
    if _ONE_POD in (spec.get("accessModes") or ()):
        return f"only one pod at a time may mount the claim {name} (ReadWriteOncePod)"
    return ""

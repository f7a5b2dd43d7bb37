"""Claims of pods: the volumes that decide where a pod may be, and the claims for which no pod starts.

The plugins VolumeBinding and VolumeZone of
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
    """A claim that pods mount, as a cluster has it.

    Attributes:
        volume: the PersistentVolume behind the claim; None where the claim has none.
        obstacle: the reason for which no pod with the claim starts, in words; empty where none exists.
        doubt: the reason for which arithmetic cannot judge the claim, in words; empty where none exists.
    """

    volume: Object | None = None
    obstacle: str = ""
    doubt: str = ""


def claims_of(spec: Mapping[str, Any], namespace: str, cluster: Cluster) -> Iterator[Claim]:
    """Yield the claims that a PodSpec mounts."""
    for volume in spec.get("volumes") or ():
        if "ephemeral" in volume:
            yield Claim(doubt=f"the given objects lack the claim of the volume {volume['name']}, made for each pod")
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if name:
            yield _claim(name, namespace, cluster)


def _claim(name: str, namespace: str, cluster: Cluster) -> Claim:
    claim = cluster.claims.get((namespace, name))
    if claim is None:
        return Claim(doubt=f"the given objects lack the PersistentVolumeClaim {name}")
    phase = (claim.get("status") or {}).get("phase")
    volume_name = (claim.get("spec") or {}).get("volumeName")
    volume = cluster.volumes.get(volume_name or "")
    if claim["metadata"].get("deletionTimestamp"):
        return Claim(obstacle=f"the claim {name} is being deleted")
    if phase == "Lost":
        return Claim(obstacle=f"the claim {name} has lost its volume")
    if not volume_name:
        return Claim(doubt=f"the given objects lack a PersistentVolume of the claim {name}")
    if volume and not _belongs_to(volume, claim):
        owner = volume["spec"]["claimRef"]
        title = f"{owner.get('namespace')}/{owner.get('name')}"
        return Claim(obstacle=f"the volume {volume_name} of the claim {name} belongs to the claim {title}")
    if phase and phase != _BOUND:
        return Claim(obstacle=f"the claim {name} is {phase}, and not Bound")
    if volume is None:
        return Claim(doubt=f"the given objects lack the PersistentVolume {volume_name} of the claim {name}")
    return Claim(volume=volume, doubt=_doubt(name, volume))


def _belongs_to(volume: Object, claim: Object) -> bool:
    """Return whether a volume is free for a claim: a volume remembers its claim also after the claim is gone."""
    owner = volume["spec"].get("claimRef")
    if not owner:
        return True
    names = (owner.get("namespace"), owner.get("name"))
    uids = {uid for uid in (owner.get("uid"), claim["metadata"].get("uid")) if uid}
    return names == (namespace_of(claim), claim["metadata"]["name"]) and len(uids) < 2


def _doubt(name: str, volume: Object) -> str:
    spec = volume.get("spec") or {}
    if _ONE_POD in (spec.get("accessModes") or ()):
        return f"the claim {name} decides, which one pod at a time may mount"
    return ""

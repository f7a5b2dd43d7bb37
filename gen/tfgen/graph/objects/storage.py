"""Volumes, their mounts, and the claims that are made for them: one entry of ``storage`` each.

A claim belongs to the job, not to a run, and no pruning, upgrade or uninstall deletes it: a rerun must never lose a
model.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import (
    AllOf,
    AnyOf,
    Bound,
    Default,
    Each,
    Equal,
    Has,
    Node,
    Not,
    NotEmpty,
    Splice,
    Text,
    When,
    given,
)
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.values import own_or_job, value
from tfgen.job.training_job import RoleName
from tfgen.kubernetes import keys

_NAME: Final = Bound("name")
TMP: Final = "tmp"
SHM: Final = "shm"

RUN_FOLDER: Final = "TFGEN_RUN_FOLDER"
"""The variable that names the run whose folder this one works in."""

RUNS: Final = Default(Bound("storage", "string", "runs"), "")
SEPARATE: Final = Equal(RUNS, "Separate")

# The sources that stand in the pod as job.yaml has them, in Kubernetes' own words.
SOURCES: Final = (
    "nfs",
    "hostPath",
    "configMap",
    "secret",
    "azureFile",
    "csi",
    "flexVolume",
    "projected",
)
WRITABLE: Final = ("claim", "nfs", "hostPath", "azureFile", "csi", "flexVolume")
"""The sources of which a task may find again what another wrote."""


def volumes(role: RoleName) -> list[Node]:
    """The pod's volumes. TensorFlow needs one temporary folder that it can write: its import fails without."""
    size = own_or_job(role, "shm")
    return [
        {"name": TMP, "emptyDir": {}},
        When(size, {"name": SHM, "emptyDir": {"medium": "Memory", "sizeLimit": size}}),
        _each_of(role, _volume()),
    ]


def mounts(role: RoleName) -> list[Node]:
    """The main container's mounts."""
    return [
        {"name": TMP, "mountPath": "/tmp"},  # noqa: S108 - a path in the pod
        When(own_or_job(role, "shm"), {"name": SHM, "mountPath": "/dev/shm"}),  # noqa: S108 - a path in the pod
        _each_of(
            role,
            {
                "name": _NAME,
                "mountPath": _storage("mountPath"),
                **sub_path(),
                "readOnly": When(_storage("readOnly"), True),
            },
        ),
    ]


def sub_path() -> dict[str, Node]:
    """Which folder of a volume the job sees: with runs: Separate, the run's own within the one that is said."""
    plain, expanded = _storage("subPath"), _storage("subPathExpr")
    above = Default(plain, expanded)
    own = When(above, Text((above, f"/$({RUN_FOLDER})")), f"$({RUN_FOLDER})")
    return {
        "subPath": When(AllOf((plain, Not(SEPARATE))), plain),
        "subPathExpr": When(SEPARATE, own, given(expanded)),
    }


def reader_volumes(reader: str) -> list[Node]:
    """The volumes of a pod beside the job that only reads: one that ``for`` may name as it names a role."""
    return [{"name": TMP, "emptyDir": {}}, _each_of(reader, _volume())]


def reader_mounts(reader: str) -> list[Node]:
    """Their mounts, where the job's own pods have them; of a volume with a folder for each task, all of it."""
    mount: Node = {
        "name": _NAME,
        "mountPath": _storage("mountPath"),
        "subPath": given(_storage("subPath")),
        "readOnly": True,
    }
    return [{"name": TMP, "mountPath": "/tmp"}, _each_of(reader, mount)]  # noqa: S108 - a path in the pod


def volumes_of_all() -> list[Node]:
    """The volumes of a pod that has all of them, whatever the roles."""
    return [{"name": TMP, "emptyDir": {}}, Each(value("storage"), _volume(), item="storage")]


def mounts_of_all() -> list[Node]:
    """Their mounts."""
    mount: Node = {
        "name": _NAME,
        "mountPath": _storage("mountPath"),
        "subPath": given(_storage("subPath")),
    }
    tmp: Node = {"name": TMP, "mountPath": "/tmp"}  # noqa: S108 - a path in the pod
    return [tmp, Each(value("storage"), mount, item="storage")]


def claims() -> Each:
    """The claims that the job makes."""
    claim: Node = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": labels.metadata(names.claim(_NAME), annotations=keys.KEEP),
        "spec": {
            "accessModes": [Default(_storage("claim.accessMode"), "ReadWriteMany")],
            "volumeName": given(_storage("claim.volumeName")),
            "storageClassName": _storage_class(),
            "resources": {"requests": {"storage": Bound("storage", "quantity", "claim.size")}},
        },
    }
    made = When(AllOf((_tree("claim"), _storage("claim.size"))), claim)
    return Each(value("storage"), made, item="storage")


def _storage_class() -> Node:
    """The claim's class. No class at all, where a volume is named that has none, is said by an empty name.

    https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume
    """
    said = _storage("claim.storageClass")
    return When(_storage("claim.volumeName"), Default(said, ""), given(said))


def _storage(field: str) -> Bound:
    return Bound("storage", "string", field)


def _tree(field: str) -> Bound:
    return Bound("storage", "map", field)


def _each_of(role: str, body: Node) -> Each:
    """An item for each volume that the role has: those that name it, and those that name no role."""
    roles = Bound("storage", "list", "for")
    return Each(value("storage"), When(AnyOf((Not(roles), Has(roles, role))), body), item="storage")


def _volume() -> Node:
    return {"name": _NAME, Splice("source"): _source()}


def _source() -> Node:
    """The volume's source; an emptyDir where there is no other, since its own map may be empty."""
    name = _storage("claim.name")
    node: Node = When(_tree("emptyDir"), {"emptyDir": NotEmpty(_tree("emptyDir"))}, {"emptyDir": {}})
    for source in reversed(SOURCES):
        node = When(_tree(source), {source: NotEmpty(_tree(source))}, node)
    claim_name = When(name, name, names.claim(_NAME))
    return When(_tree("claim"), {"persistentVolumeClaim": {"claimName": claim_name}}, node)

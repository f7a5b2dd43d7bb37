"""Volumes, their mounts, and the claims that are made for them: one entry of ``storage`` each.

A claim belongs to the job, not to a run, and no pruning, upgrade or uninstall deletes it: a rerun must never lose a
model.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import (
    AllOf,
    AnyOf,
    Bound,
    Default,
    Equal,
    ForEach,
    HasItem,
    Named,
    Node,
    Not,
    NotEmpty,
    Parameter,
    Splice,
    Text,
    When,
    call,
    if_set,
)
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.values import ROLE, role_or_job_value, value
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys
from tfgen.kubernetes.volume_profiles import refuses
from tfgen.schema import workload_kinds as kinds
from tfgen.value_type import ValueType

_NAME: Final = Bound("name")
_VOLUME: Final = Bound("storage", "map")
TMP: Final = "tmp"
SHM: Final = "shm"

RUN_FOLDER: Final = "TFGEN_RUN_FOLDER"
"""The variable that names the run whose folder this one works in."""

RUNS: Final = Bound("storage", "string", "runs")
SEPARATE: Final = Equal(Default(RUNS, ""), "Separate")

# The sources that stand in the pod as job.yaml has them, in Kubernetes' own words.
SOURCES: Final = (
    "nfs",
    "hostPath",
    "configMap",
    "secret",
    "azureFile",
    "csi",
    "image",
    "flexVolume",
    "projected",
)
WRITABLE: Final = ("claim", "nfs", "hostPath", "azureFile", "csi", "flexVolume")
"""The sources of which a task may find again what another wrote."""


def sources(structure: Structure) -> tuple[str, ...]:
    """Those that the job's profile allows, and its kind has a place for."""
    return tuple(
        source
        for source in SOURCES
        if not refuses(structure.profile, source)
        and not kinds.lacking({"workload": {"kind": structure.kind}}, ("storage", "*", source))
    )


def volumes(structure: Structure) -> list[Node]:
    """The pod's volumes. TensorFlow needs one temporary folder that it can write: its import fails without."""
    size = role_or_job_value("shm")
    return [
        {"name": TMP, "emptyDir": {}},
        When(size, {"name": SHM, "emptyDir": {"medium": "Memory", "sizeLimit": size}}),
        _each_of(ROLE, _volume(structure)),
    ]


def mounts() -> list[Node]:
    """The main container's mounts."""
    return [
        {"name": TMP, "mountPath": "/tmp"},  # noqa: S108 - a path in the pod
        When(role_or_job_value("shm"), {"name": SHM, "mountPath": "/dev/shm"}),  # noqa: S108 - a path in the pod
        _each_of(
            ROLE,
            {
                "name": _NAME,
                Splice("mount"): mount(_VOLUME, _storage("mountPath")),
                "readOnly": When(_storage("readOnly"), True),
            },
        ),
    ]


def mount(volume: Node, path: Node) -> Node:
    """Where a pod sees a volume, and which folder of it: with runs: Separate, the run's own within the one named."""
    return call(_MOUNT, storage=volume, mountPath=path)


def _mount() -> Node:
    plain, expanded = _of_part("subPath"), _of_part("subPathExpr")
    separate, above = Equal(Default(_of_part("runs"), ""), "Separate"), Default(plain, expanded)
    own = When(above, Text((above, f"/$({RUN_FOLDER})")), f"$({RUN_FOLDER})")
    return {
        "mountPath": Parameter("mountPath"),
        "subPath": When(AllOf((plain, Not(separate))), plain),
        "subPathExpr": When(separate, own, if_set(expanded)),
    }


def reader_volumes(structure: Structure, reader: str) -> list[Node]:
    """The volumes of a pod beside the job that only reads: one that ``for`` may name as it names a role."""
    return [{"name": TMP, "emptyDir": {}}, _each_of(reader, _volume(structure))]


def reader_mounts(reader: str) -> list[Node]:
    """Their mounts, where the job's own pods have them; of a volume with a folder for each task, all of it."""
    mount: Node = {
        "name": _NAME,
        "mountPath": _storage("mountPath"),
        "subPath": if_set(_storage("subPath")),
        "readOnly": True,
    }
    return [{"name": TMP, "mountPath": "/tmp"}, _each_of(reader, mount)]  # noqa: S108 - a path in the pod


def all_volumes(structure: Structure) -> list[Node]:
    """The volumes of a pod that has all of them, whatever the roles."""
    return [{"name": TMP, "emptyDir": {}}, ForEach(value("storage"), _volume(structure), item="storage")]


def all_mounts() -> list[Node]:
    """Their mounts."""
    mount: Node = {
        "name": _NAME,
        "mountPath": _storage("mountPath"),
        "subPath": if_set(_storage("subPath")),
    }
    tmp: Node = {"name": TMP, "mountPath": "/tmp"}  # noqa: S108 - a path in the pod
    return [tmp, ForEach(value("storage"), mount, item="storage")]


@cache
def claims() -> ForEach:
    """The claims that the job makes."""
    claim: Node = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": labels.metadata(names.claim(_NAME), annotations=keys.KEEP),
        "spec": {
            "accessModes": [Default(_storage("claim.accessMode"), "ReadWriteMany")],
            "volumeName": if_set(_storage("claim.volumeName")),
            "storageClassName": _storage_class(),
            "resources": {"requests": {"storage": Bound("storage", "quantity", "claim.size")}},
        },
    }
    sized = When(AllOf((_tree("claim"), _storage("claim.size"))), claim)
    return ForEach(value("storage"), sized, item="storage")


def _storage_class() -> Node:
    """The claim's class. No class at all, where a volume is named that has none, is said by an empty name.

    https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume
    """
    name = _storage("claim.storageClass")
    return When(_storage("claim.volumeName"), Default(name, ""), if_set(name))


def claim_name() -> Node:
    """The name of the claim of a volume, in an `ForEach` over the volumes."""
    return call(_CLAIM_NAME, name=_NAME, storage=_VOLUME)


def _storage(field: str) -> Bound:
    return Bound("storage", "string", field)


def _tree(field: str) -> Bound:
    return Bound("storage", "map", field)


def _of_part(field: str, value_type: ValueType = "string") -> Parameter:
    return Parameter("storage", value_type, field)


def _each_of(role: Node, body: Node) -> ForEach:
    """An item for each volume that the role has: those that name it, and those that name no role."""
    roles = Bound("storage", "list", "for")
    return ForEach(value("storage"), When(AnyOf((Not(roles), HasItem(roles, role))), body), item="storage")


def _volume(structure: Structure) -> Node:
    return {"name": _NAME, Splice("source"): call(_source(sources(structure)), name=_NAME, storage=_VOLUME)}


@cache
def _source(sources: tuple[str, ...]) -> Named:
    tree = {source: _of_part(source, "map") for source in ("claim", "emptyDir", *sources)}
    node: Node = When(tree["emptyDir"], {"emptyDir": NotEmpty(tree["emptyDir"])}, {"emptyDir": {}})
    for source in reversed(sources):
        node = When(tree[source], {source: NotEmpty(tree[source])}, node)
    claim = call(_CLAIM_NAME, name=Parameter("name"), storage=Parameter("storage", "map"))
    return Named(
        "volumeSource",
        "The source of a volume: an emptyDir where its entry of storage has no other.",
        When(tree["claim"], {"persistentVolumeClaim": {"claimName": claim}}, node),
        file="volumes",
        parameters=("name", "storage"),
    )


_CLAIM_NAME: Final = Named(
    "claimName",
    "The claim of a volume: an existing one, or the one that the chart makes.",
    When(_of_part("claim.name"), _of_part("claim.name"), names.claim(Parameter("name"))),
    file="volumes",
    parameters=("name", "storage"),
)

_MOUNT: Final = Named(
    "mount",
    "Where a pod sees a volume, and which folder of it: with runs: Separate, the run's own within the one named.",
    _mount(),
    file="volumes",
    parameters=("storage", "mountPath"),
)

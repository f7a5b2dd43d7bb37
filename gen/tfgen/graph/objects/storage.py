"""The volumes under ``storage`` of a job, their mounts and their claims.

A claim belongs to the job. No pruning, upgrade or uninstall deletes the claim, because a rerun must not lose a model.
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
    NamedTemplate,
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
from tfgen.kubernetes.volume_profiles import refuses
from tfgen.schema import kinds
from tfgen.value_type import ValueType

_NAME: Final = Bound("name")
_VOLUME: Final = Bound("storage", "map")
TMP: Final = "tmp"
SHM: Final = "shm"

RUN_FOLDER: Final = "TFGEN_RUN_FOLDER"
"""The environment variable with the name of the run's folder, for volumes with a folder for each run."""

RUNS: Final = Bound("storage", "string", "runs")
SEPARATE: Final = Equal(Default(RUNS, ""), "Separate")

# The volume sources whose fields in the job file are those of Kubernetes.
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
"""The volume sources that keep the data after the end of a pod."""


def sources(structure: Structure) -> tuple[str, ...]:
    """Return the volume sources that the security profile allows and the workload kind supports."""
    return tuple(
        source
        for source in SOURCES
        if not refuses(structure.profile, source)
        and not kinds.lacking({"workload": {"kind": structure.kind}}, ("storage", "*", source))
    )


def volumes(structure: Structure) -> list[Node]:
    """Return the volumes of a task's pod, with a volume for /tmp. TensorFlow needs a writable temporary folder."""
    size = role_or_job_value("shm")
    return [
        {"name": TMP, "emptyDir": {}},
        When(size, {"name": SHM, "emptyDir": {"medium": "Memory", "sizeLimit": size}}),
        _for_role(ROLE, _volume(structure)),
    ]


def mounts() -> list[Node]:
    """Return the mounts of the main container."""
    return [
        {"name": TMP, "mountPath": "/tmp"},  # noqa: S108 - a path in the pod
        When(role_or_job_value("shm"), {"name": SHM, "mountPath": "/dev/shm"}),  # noqa: S108 - a path in the pod
        _for_role(
            ROLE,
            {
                "name": _NAME,
                Splice("mount"): mount(_VOLUME, _storage("mountPath")),
                "readOnly": When(_storage("readOnly"), True),
            },
        ),
    ]


def mount(volume: Node, path: Node) -> Node:
    """Return the fields of a volume mount. The mount contains the whole volume, a subfolder, or the folder of the run.

    Args:
        volume: the settings of the volume.
        path: the path in the container.
    """
    return call(_MOUNT, storage=volume, mountPath=path)


def _mount() -> Node:
    sub_path, expression = _parameter("subPath"), _parameter("subPathExpr")
    is_separate, parent = Equal(Default(_parameter("runs"), ""), "Separate"), Default(sub_path, expression)
    run_folder = When(parent, Text((parent, f"/$({RUN_FOLDER})")), f"$({RUN_FOLDER})")
    return {
        "mountPath": Parameter("mountPath"),
        "subPath": When(AllOf((sub_path, Not(is_separate))), sub_path),
        "subPathExpr": When(is_separate, run_folder, if_set(expression)),
    }


def reader_volumes(structure: Structure, reader: str) -> list[Node]:
    """Return the volumes of a pod that only reads the data of the tasks, such as TensorBoard's pod.

    Args:
        structure: the job.
        reader: the name of the pod in the field ``for`` of a volume, such as `tensorboard`.
    """
    return [{"name": TMP, "emptyDir": {}}, _for_role(reader, _volume(structure))]


def reader_mounts(reader: str) -> list[Node]:
    """Return the read-only mounts of a pod, such as TensorBoard's pod, at the mount paths of the tasks.

    Each mount contains the folders of all tasks and of all runs in the volume.
    """
    mount: Node = {
        "name": _NAME,
        "mountPath": _storage("mountPath"),
        "subPath": if_set(_storage("subPath")),
        "readOnly": True,
    }
    return [{"name": TMP, "mountPath": "/tmp"}, _for_role(reader, mount)]  # noqa: S108 - a path in the pod


def all_volumes(structure: Structure) -> list[Node]:
    """Return the volumes of a pod that mounts the volumes of all roles."""
    return [{"name": TMP, "emptyDir": {}}, ForEach(value("storage"), _volume(structure), item="storage")]


def all_mounts() -> list[Node]:
    """Return the mounts of a pod that mounts the volumes of all roles."""
    mount: Node = {
        "name": _NAME,
        "mountPath": _storage("mountPath"),
        "subPath": if_set(_storage("subPath")),
    }
    tmp: Node = {"name": TMP, "mountPath": "/tmp"}  # noqa: S108 - a path in the pod
    return [tmp, ForEach(value("storage"), mount, item="storage")]


@cache
def claims() -> ForEach:
    """Return the claims that the job creates."""
    claim: Node = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": labels.metadata(names.claim(_NAME), annotations=labels.KEEP),
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
    """Return the storage class of a claim. An empty class binds a claim to an existing volume without a class.

    https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume
    """
    name = _storage("claim.storageClass")
    return When(_storage("claim.volumeName"), Default(name, ""), if_set(name))


def claim_name() -> Node:
    """Return the name of a volume's claim. The result belongs in a `ForEach` over the volumes of the job."""
    return call(_CLAIM_NAME, name=_NAME, storage=_VOLUME)


def _storage(field: str) -> Bound:
    return Bound("storage", "string", field)


def _tree(field: str) -> Bound:
    return Bound("storage", "map", field)


def _parameter(field: str, value_type: ValueType = "string") -> Parameter:
    return Parameter("storage", value_type, field)


def _for_role(role: Node, body: Node) -> ForEach:
    """Return a list with the item `body` for each volume that a role mounts. In `body`, `storage` is the volume.

    Every role mounts a volume whose field ``for`` is empty.
    """
    roles = Bound("storage", "list", "for")
    return ForEach(value("storage"), When(AnyOf((Not(roles), HasItem(roles, role))), body), item="storage")


def _volume(structure: Structure) -> Node:
    return {"name": _NAME, Splice("source"): call(_source(sources(structure)), name=_NAME, storage=_VOLUME)}


@cache
def _source(sources: tuple[str, ...]) -> NamedTemplate:
    tree = {source: _parameter(source, "map") for source in ("claim", "emptyDir", *sources)}
    node: Node = When(tree["emptyDir"], {"emptyDir": NotEmpty(tree["emptyDir"])}, {"emptyDir": {}})
    for source in reversed(sources):
        node = When(tree[source], {source: NotEmpty(tree[source])}, node)
    claim = call(_CLAIM_NAME, name=Parameter("name"), storage=Parameter("storage", "map"))
    return NamedTemplate(
        "volumeSource",
        "The source of a volume. A volume without a source is an emptyDir.",
        When(tree["claim"], {"persistentVolumeClaim": {"claimName": claim}}, node),
        file="volumes",
        parameters=("name", "storage"),
    )


_CLAIM_NAME: Final = NamedTemplate(
    "claimName",
    "The name of the claim of a volume: claim.name, or the claim that the chart creates.",
    When(_parameter("claim.name"), _parameter("claim.name"), names.claim(Parameter("name"))),
    file="volumes",
    parameters=("name", "storage"),
)

_MOUNT: Final = NamedTemplate(
    "mount",
    "The mount path and the folder of a volume. With runs: Separate, each run has a subfolder.",
    _mount(),
    file="volumes",
    parameters=("storage", "mountPath"),
)

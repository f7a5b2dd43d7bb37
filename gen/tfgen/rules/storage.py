"""Rules about the volumes of a job, their claims and their paths in the containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.fix import Hint, assignment, hint, removal
from tfgen.graph.guards import duplicate_mount_message
from tfgen.graph.helper_pods import TENSORBOARD
from tfgen.graph.holes import clean_path
from tfgen.graph.storage import WRITABLE, makes_claim
from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.rule import Finding, advise, rule
from tfgen.rules.view import View
from tfgen.words import either, path_name, shown

# -- claims ------------------------------------------------------------------------------------------------------------
#
# Claims that more pods or nodes mount than the access mode of the claim allows.
#
# https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes. The rules check only the claims that the
# job creates, because the job does not state the access mode of an existing claim.


@rule(
    "claim-access-mode",
    "warning",
    "Several pods mount a claim whose access mode allows only one node, or only reading.",
)
def claim_access_mode(view: View) -> Iterator[Finding]:
    for path, mode, volume, description in _shared_claims(view):
        if mode == "ReadWriteOnce":
            message = f"{description}, so all pods must run on one node"
            yield advise(path, message, _shared(path, f"list fewer roles in storage.{path[1]}.for"), f"{mode} {path}")
        elif mode == "ReadOnlyMany" and not volume.get("readOnly"):
            message = f"{description}, so the pods cannot write to the claim"
            yield advise(path, message, _shared(path, "set readOnly: true"), f"{mode} {path}")


@rule("claim-single-pod", "error", "Several pods mount a claim whose access mode allows only one pod.")
def claim_single_pod(view: View) -> Iterator[Finding]:
    for path, mode, _, description in _shared_claims(view):
        if mode == "ReadWriteOncePod":
            message = f"{description}, so only one pod would start"
            yield advise(path, message, _shared(path, f"list fewer roles in storage.{path[1]}.for"), f"{mode} {path}")


def _shared(path: Path, other: str) -> Hint:
    return hint(assignment(path, "ReadWriteMany", "set accessMode to ReadWriteMany"), other=other)


def _shared_claims(view: View) -> Iterator[tuple[Path, str, Mapping[str, Any], str]]:
    """Yield each claim that the job creates and that several pods mount.

    Each item has the path of the access mode, the access mode, the volume, and the beginning of a message. Example:
    ``(("storage", "model", "claim", "accessMode"), "ReadWriteOnce", {...}, "storage.model is a ReadWriteOnce claim of 3
    pods (1 of chief and 2 of worker)")``.
    """
    for name, volume in view.values["storage"].items():
        claim = volume.get("claim", {})
        mounting = [role.name for role in view.roles if name in view.volumes(role.name)]
        pods: dict[str, int] = {role: view.values["roles"][role].get("replicas", 1) for role in mounting}
        if view.has_tensorboard and name in view.volumes(TENSORBOARD):
            pods[TENSORBOARD] = 1
        if makes_claim(volume) and sum(pods.values()) > 1:
            counts = either((f"{count} of {role}" for role, count in pods.items()), "and")
            mode = claim.get("accessMode", "ReadWriteMany")
            description = f"storage.{name} is a {mode} claim of {sum(pods.values())} pods ({counts})"
            yield ("storage", name, "claim", "accessMode"), mode, volume, description


# -- ps storage --------------------------------------------------------------------------------------------------------
#
# Volumes for checkpoints that the chief can write and the parameter servers cannot write.
#
# Each parameter server writes its part of a checkpoint to the path that the chief sends. With CheckpointOptions, the
# chief writes all parts: https://www.tensorflow.org/api_docs/python/tf/train/CheckpointOptions. The rule skips a claim
# that only one node can mount: a user who sets such an access mode probably uses CheckpointOptions.


# The complete device name is necessary: TensorFlow fails to save a checkpoint with /job:localhost, and fails to restore
# a checkpoint with /job:chief.
_CHIEF: Final = "/job:chief/replica:0/task:0/device:CPU:0"
_SINGLE_NODE_MODES: Final = ("ReadWriteOnce", "ReadWriteOncePod")


@rule("storage-not-on-ps", "warning", "The chief can write to a volume that ps does not mount.")
def storage_not_on_ps(view: View) -> Iterator[Finding]:
    if not view.job.structure.role("ps"):
        return
    for name, volume in view.values["storage"].items():
        roles = volume.get("for", ["ps"])
        if "chief" in roles and "ps" not in roles and _is_shared(volume):
            message = (
                f"storage.{name}.for lists chief, but not ps, which writes parts of checkpoints; add ps, set readOnly, "
                f"or save with tf.train.CheckpointOptions(experimental_io_device='{_CHIEF}')"
            )
            yield Finding(("storage", name, "for"), message)


def _is_shared(volume: Mapping[str, Any]) -> bool:
    """Return True if pods on several nodes can write to a volume."""
    writable = any(source in volume for source in WRITABLE) and not volume.get("readOnly")
    return writable and not (makes_claim(volume) and volume["claim"].get("accessMode") in _SINGLE_NODE_MODES)


# -- elasticdl volume --------------------------------------------------------------------------------------------------
#
# Paths that contain a separator of ElasticDL's flag ``--volume=claim_name=c,mount_path=/data;...``.


_SYNTAX: Final = ",;="


@rule(
    "elasticdl-volume",
    "error",
    "The path of a volume contains a character that separates volumes in ElasticDL's argument `--volume`.",
)
def elasticdl_volume(view: View) -> Iterator[Finding]:
    if view.job.structure.kind != "ElasticDL":
        return
    for name, volume in view.values["storage"].items():
        volume_path: Path = ("storage", name)
        texts = [((*volume_path, key), volume[key]) for key in ("mountPath", "subPath") if key in volume]
        if "hostPath" in volume:
            texts.append(((*volume_path, "hostPath", "path"), volume["hostPath"]["path"]))
        for path, text in texts:
            if separators := [separator for separator in _SYNTAX if separator in text]:
                message = (
                    f'the path {shown(text)} contains "{separators[0]}", a separator of ElasticDL\'s argument '
                    "--volume; choose a path without commas, semicolons and equals signs"
                )
                yield Finding(path, message)


# -- mount paths -------------------------------------------------------------------------------------------------------
#
# Volumes that one role mounts at the same path.


FOLDERS_OF_EVERY_POD: Final = {"/tmp": "the temporary folder of every pod"}  # noqa: S108 - a path in the pod


@rule("duplicate-mount-path", "error", "A role mounts two volumes at the same path.")
def duplicate_mount_path(view: View) -> Iterator[Finding]:
    for role in view.roles:
        owner_by_folder = dict(FOLDERS_OF_EVERY_POD)
        if view.effective_field(role.name, "shm")[1]:
            owner_by_folder["/dev/shm"] = "shm"  # noqa: S108 - a path in the pod
        yield from _find_duplicates(view, owner_by_folder, mounts_of(view, role.name))
    if view.has_tensorboard:
        yield from _find_duplicates(view, dict(FOLDERS_OF_EVERY_POD), _storage_mounts(view, TENSORBOARD))


def _find_duplicates(
    view: View, owner_by_folder: dict[str, str], mounts: Iterator[tuple[Path, str]]
) -> Iterator[Finding]:
    for path, mount in sorted(mounts, key=lambda mount_point: view.place(mount_point[0]).position):
        folder = clean_path(mount)
        name = path_name(path[:-1])
        if folder in owner_by_folder:
            yield Finding(path, view.evaluate(duplicate_mount_message(name, folder, owner_by_folder[folder])))
        owner_by_folder.setdefault(folder, name)


def mounts_of(view: View, role: RoleName) -> Iterator[tuple[Path, str]]:
    """Yield the path and the value of each field that sets the mount path of a volume of a role.

    Example: ``(("storage", "model", "mountPath"), "/model")``.
    """
    if view.job.structure.code:
        yield ("code", "mountPath"), view.values["code"]["mountPath"]
    yield from _storage_mounts(view, role)
    for container in pod_parts.main_container(view, role):
        for mount in pod_parts.items(container, "volumeMounts"):
            # podTemplate may extend tfgen's mount of /tmp, because Kubernetes merges the two mounts by their paths.
            folder = mount.data.get("mountPath")
            if isinstance(folder, str) and folder != "/tmp":  # noqa: S108 - a path in the pod
                yield (*mount.path, "mountPath"), folder


def _storage_mounts(view: View, role: str) -> Iterator[tuple[Path, str]]:
    for name, volume in view.volumes(role).items():
        yield ("storage", name, "mountPath"), volume["mountPath"]


# -- run folders -------------------------------------------------------------------------------------------------------
#
# Volumes that have a folder for each run (`runs`), although no task can lock the volume.


@rule("volume-runs", "error", "A volume sets `runs`, but no task can lock the volume.")
def volume_runs(view: View) -> Iterator[Finding]:
    ends = view.job.structure.ends
    for name, volume in view.values["storage"].items():
        if "runs" not in volume:
            continue
        if volume.get("readOnly") or not any(source in volume for source in WRITABLE):
            path = ("storage", name, "runs")
            message = f"storage.{name} has runs, but a task cannot write to the volume"
            yield advise(path, message, hint(removal(path, "runs"), other="use a writable volume"))
        elif ends not in volume.get("for", [ends]):
            yield Finding(
                ("storage", name, "runs"),
                f"storage.{name} has runs, but {ends}, which locks the volume, does not mount the volume; add {ends} "
                f"to storage.{name}.for",
            )

"""Volumes that one role mounts at the same path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.fill import clean_path
from tfgen.graph.objects import tensorboard
from tfgen.graph.value_guards import duplicate_mount_message
from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import path_name

FOLDERS_OF_EVERY_POD: Final = {"/tmp": "the temporary folder of every pod"}  # noqa: S108 - a path in the pod


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        owner_by_folder = dict(FOLDERS_OF_EVERY_POD)
        if view.effective_field(role.name, "shm")[1]:
            owner_by_folder["/dev/shm"] = "shm"  # noqa: S108 - a path in the pod
        yield from _find_duplicates(view, owner_by_folder, mounts_of(view, role.name))
    if view.has_tensorboard:
        yield from _find_duplicates(view, dict(FOLDERS_OF_EVERY_POD), _storage_mounts(view, tensorboard.ROLE))


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


RULES: Final = (Rule("duplicate-mount-path", "error", "A role mounts two volumes at the same path.", _check),)

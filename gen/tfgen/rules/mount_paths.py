"""Two volumes in one place."""

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

OF_EVERY_POD: Final = {"/tmp": "the temporary folder of every pod"}  # noqa: S108 - a path in the pod


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        taken = dict(OF_EVERY_POD)
        if view.effective(role.name, "shm")[1]:
            taken["/dev/shm"] = "shm"  # noqa: S108 - a path in the pod
        yield from _twice(view, taken, mounts_of(view, role.name))
    if view.has_tensorboard:
        yield from _twice(view, dict(OF_EVERY_POD), _of_storage(view, tensorboard.ROLE))


def _twice(view: View, taken: dict[str, str], mounts: Iterator[tuple[Path, str]]) -> Iterator[Finding]:
    for path, mount in sorted(mounts, key=lambda mount_point: view.place(mount_point[0]).position):
        place = clean_path(mount)
        name = path_name(path[:-1])
        if place in taken:
            yield Finding(path, view.evaluate(duplicate_mount_message(name, place, taken[place])))
        taken.setdefault(place, name)


def mounts_of(view: View, role: RoleName) -> Iterator[tuple[Path, str]]:
    """Yield the folders of a role's mounts, each with the path of the field that sets the folder."""
    if view.job.structure.code:
        yield ("code", "mountPath"), view.values["code"]["mountPath"]
    yield from _of_storage(view, role)
    for container in pod_parts.main_container(view, role):
        for mount in pod_parts.items(container, "volumeMounts"):
            # podTemplate may say more of tfgen's own mount of /tmp: the two are merged by their paths.
            place = mount.data.get("mountPath")
            if isinstance(place, str) and place != "/tmp":  # noqa: S108 - a path in the pod
                yield (*mount.path, "mountPath"), place


def _of_storage(view: View, role: str) -> Iterator[tuple[Path, str]]:
    for name, volume in view.volumes(role).items():
        yield ("storage", name, "mountPath"), volume["mountPath"]


RULES: Final = (Rule("duplicate-mount-path", "error", "A role mounts two volumes at the same path.", _check),)

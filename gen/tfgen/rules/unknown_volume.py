"""Volumes that are mounted and that nobody declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.objects import code
from tfgen.graph.objects.storage import SHM, TMP
from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule, did_you_mean
from tfgen.rules.view import View
from tfgen.words import either


def _check(view: View) -> Iterator[Finding]:
    # What the job says for every role is wrong once, for the roles that lack the volume.
    lacking: dict[tuple[Path, str], list[RoleName]] = {}
    known = {role.name: _declared(view, role.name) for role in view.roles}
    for role, declared in known.items():
        for container in _containers(view, role):
            for mount in pod_parts.items(container, "volumeMounts"):
                name = pod_parts.name(mount)
                if name and name not in declared and not pod_parts.removes(mount):
                    lacking.setdefault(((*mount.path, "name"), name), []).append(role)
    for (path, name), roles in lacking.items():
        yield Finding(path, f'the pods of {either(roles, "and")} have no volume "{name}"{_hint(view, name, known)}')


def _hint(view: View, name: str, known: dict[RoleName, set[str]]) -> str:
    if name in view.values["storage"]:
        return f"; storage.{name}.for does not name them"
    if name == SHM:
        return "; give it a size by shm"
    return did_you_mean(name, sorted(set().union(*known.values()))) or "; declare it in storage"


def _declared(view: View, role: RoleName) -> set[str]:
    shm = {SHM} if view.effective(role, "shm")[1] else set()
    patched = pod_parts.patched(view, role, "volumes")
    of_code = {name for volume in code.volumes(view.job.structure) if isinstance(name := volume["name"], str)}
    own = {TMP, *view.volumes(role), *shm, *of_code}
    return own | {pod_parts.name(part) for part in patched if not pod_parts.removes(part)}


def _containers(view: View, role: RoleName) -> Iterator[Part]:
    yield from pod_parts.beside(view, role)
    yield from pod_parts.patched(view, role, "containers")
    yield from pod_parts.patched(view, role, "initContainers")


RULES: Final = (Rule("unknown-volume", "error", "A container mounts a volume that its pod does not have.", _check),)

"""Volumes that a container mounts and that the pod does not declare."""

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
    # A mount of the job applies to every role. Report the mount once, with all roles whose pods lack the volume.
    roles_by_mount: dict[tuple[Path, str], list[RoleName]] = {}
    declared_by_role = {role.name: _declared(view, role.name) for role in view.roles}
    for role, declared in declared_by_role.items():
        for container in _containers(view, role):
            for mount in pod_parts.items(container, "volumeMounts"):
                name = pod_parts.name(mount)
                if name and name not in declared and not pod_parts.is_delete_directive(mount):
                    roles_by_mount.setdefault(((*mount.path, "name"), name), []).append(role)
    for (path, name), roles in roles_by_mount.items():
        hint = _hint(view, name, declared_by_role)
        yield Finding(path, f'the pods of {either(roles, "and")} have no volume "{name}"{hint}')


def _hint(view: View, name: str, declared_by_role: dict[RoleName, set[str]]) -> str:
    if name in view.values["storage"]:
        return f"; add the roles to storage.{name}.for"
    if name == SHM:
        return "; set shm"
    return did_you_mean(name, sorted(set().union(*declared_by_role.values()))) or "; declare the volume in storage"


def _declared(view: View, role: RoleName) -> set[str]:
    shm = {SHM} if view.effective_field(role, "shm")[1] else set()
    patched = pod_parts.template_items(view, role, "volumes")
    code_volumes = {name for volume in code.volumes(view.job.structure) if isinstance(name := volume["name"], str)}
    generated = {TMP, *view.volumes(role), *shm, *code_volumes}
    return generated | {pod_parts.name(part) for part in patched if not pod_parts.is_delete_directive(part)}


def _containers(view: View, role: RoleName) -> Iterator[Part]:
    yield from pod_parts.extra_containers(view, role)
    yield from pod_parts.template_items(view, role, "containers")
    yield from pod_parts.template_items(view, role, "initContainers")


RULES: Final = (Rule("unknown-volume", "error", "A container mounts a volume that its pod does not have.", _check),)

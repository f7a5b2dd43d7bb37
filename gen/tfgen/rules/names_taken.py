"""Containers, volumes or ports of a pod that have the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tfgen.graph.objects import code, run_lock
from tfgen.graph.objects.names import CONTAINER
from tfgen.graph.objects.storage import SHM
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import RoleName, Structure
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        yield from _containers(view, role.name)
        tensorflow_port = {WORKLOADS[view.job.structure.kind].port_name: "TensorFlow's port"}
        yield from _find_duplicates("port", tensorflow_port, _ports(view, role.name))
        storage = {name: f"storage.{name}" for name in view.volumes(role.name)}
        program = {run_lock.VOLUME: "the volume of the run lock"} if _locks(view, role.name) else {}
        owner_by_name = {SHM: "the volume of shm", **storage, **_code_parts(view, code.volumes), **program}
        yield from _find_duplicates("volume", owner_by_name, _volumes(view, role.name))


def _containers(view: View, role: RoleName) -> Iterator[Finding]:
    """Report equal names among the init containers, the sidecars and the containers of podTemplate.

    A container of podTemplate may have the name of a generated container of the same kind, because tfgen merges the two
    containers. The two kinds are init containers and regular containers. No container may have the name of a run lock.
    """
    main, locks = {CONTAINER: "the main container"}, _locks(view, role)
    owner_by_name = {**main, **locks, **_code_parts(view, code.init_containers)}
    yield from _find_duplicates("container", owner_by_name, pod_parts.extra_containers(view, role))
    init, regular = (_merged(pod_parts.template_items(view, role, key)) for key in ("initContainers", "containers"))
    yield from _find_duplicates("container", {**main, **locks}, init.values())
    for name, part in init.items():
        if pod_parts.is_delete_directive(part) and name not in locks:
            owner_by_name.pop(name, None)
        else:
            owner_by_name.setdefault(name, "a different container")
    del owner_by_name[CONTAINER]
    added = (part for part in regular.values() if not pod_parts.is_delete_directive(part))
    yield from _find_duplicates("container", owner_by_name, added)


def _locks(view: View, role: RoleName) -> dict[str, str]:
    if role != view.job.structure.ends:
        return {}
    volumes = (name for name, volume in view.volumes(role).items() if volume.get("runs"))
    return {run_lock.container_name(name): f"the run lock of storage.{name}" for name in volumes}


def _code_parts(view: View, parts: Callable[[Structure], Iterable[Any]]) -> dict[str, str]:
    return {part["name"]: "a container or volume that tfgen adds for code" for part in parts(view.job.structure)}


def _find_duplicates(noun: str, owner_by_name: dict[str, str], parts: Iterable[Part]) -> Iterator[Finding]:
    for part in parts:
        name = pod_parts.name(part)
        if name in owner_by_name:
            message = f"the {noun} {shown(name)} has the same name as {owner_by_name[name]}; choose a different name"
            yield Finding((*part.path, "name"), message)
        elif name:
            owner_by_name[name] = f"a different {noun}"


def _ports(view: View, role: RoleName) -> Iterator[Part]:
    return pod_parts.items(Part(("roles", role), view.spec["roles"][role]), "ports")


def _volumes(view: View, role: RoleName) -> Iterator[Part]:
    """Yield the volumes that podTemplate adds to the pods of a role.

    A volume in the podTemplate of the role replaces the volume with the same name in the podTemplate of the job.
    """
    yield from _merged(pod_parts.template_items(view, role, "volumes")).values()


def _merged(parts: Iterable[Part]) -> dict[str, Part]:
    """Return containers or volumes by name. A later item of `parts` replaces an earlier item with the same name."""
    return {pod_parts.name(part): part for part in parts}


RULES: Final = (
    Rule("duplicate-name", "error", "Two containers, ports or volumes of a pod have the same name.", _check),
)

"""One name for two parts of a pod."""

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
        yield from _twice(
            "port", {WORKLOADS[view.job.structure.kind].port_name: "TensorFlow's port"}, _ports(view, role.name)
        )
        storage = {name: f"storage.{name}" for name in view.volumes(role.name)}
        program = {run_lock.VOLUME: "the run lock's program"} if _locks(view, role.name) else {}
        taken = {SHM: "shm", **storage, **_of_code(view, code.volumes), **program}
        yield from _twice("volume", taken, _volumes(view, role.name))


def _containers(view: View, role: RoleName) -> Iterator[Finding]:
    """Those beside the main one, then those of podTemplate that are not merged into one of the same list."""
    main, locks = {CONTAINER: "the main container"}, _locks(view, role)
    taken = {**main, **locks, **_of_code(view, code.init_containers)}
    yield from _twice("container", taken, pod_parts.beside(view, role))
    before, beside = (_merged(pod_parts.patched(view, role, key)) for key in ("initContainers", "containers"))
    yield from _twice("container", {**main, **locks}, before.values())
    for name, part in before.items():
        if pod_parts.removes(part) and name not in locks:
            taken.pop(name, None)
        else:
            taken.setdefault(name, "another container")
    del taken[CONTAINER]
    yield from _twice("container", taken, (part for part in beside.values() if not pod_parts.removes(part)))


def _locks(view: View, role: RoleName) -> dict[str, str]:
    if role != view.job.structure.ends:
        return {}
    volumes = (name for name, volume in view.volumes(role).items() if volume.get("runs"))
    return {run_lock.container_name(name): f"the run lock of storage.{name}" for name in volumes}


def _of_code(view: View, parts: Callable[[Structure], Iterable[Any]]) -> dict[str, str]:
    return {part["name"]: f"the {part['name']} of code" for part in parts(view.job.structure)}


def _twice(kind: str, taken: dict[str, str], parts: Iterable[Part]) -> Iterator[Finding]:
    for part in parts:
        name = pod_parts.name(part)
        if name in taken:
            message = f"the {kind} {shown(name)} has the name of {taken[name]}; choose another"
            yield Finding((*part.path, "name"), message)
        elif name:
            taken[name] = f"another {kind}"


def _ports(view: View, role: RoleName) -> Iterator[Part]:
    return pod_parts.items(Part(("roles", role), view.spec["roles"][role]), "ports")


def _volumes(view: View, role: RoleName) -> Iterator[Part]:
    """Those of podTemplate: the job's and the role's of one name are merged, and so is tfgen's own tmp."""
    yield from _merged(pod_parts.patched(view, role, "volumes")).values()


def _merged(parts: Iterable[Part]) -> dict[str, Part]:
    """Of those of one name, the last: they become one."""
    return {pod_parts.name(part): part for part in parts}


RULES: Final = (Rule("duplicate-name", "error", "Two parts of a pod have the same name.", _check),)

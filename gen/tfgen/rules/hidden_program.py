"""Empty volumes that hide the program of the image.

A mount hides the files of the image in the same folder:
https://kubernetes.io/docs/concepts/storage/volumes/#how-volumes-work
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from tfgen.job.training_job import FileCode, RoleName
from tfgen.kubernetes.program_file import find_program_file
from tfgen.rules import pod_parts
from tfgen.rules.command_text import list_words
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import either, shown


def _check_programs(view: View) -> Iterator[Finding]:
    yield from _check_code(view)
    roles: dict[tuple[str, PurePosixPath], list[RoleName]] = {}
    for role in view.roles:
        program = program_of(view, role.name)
        volume = None if program is None else _volume_that_hides(view, role.name, program)
        if program is not None and volume is not None and _is_empty(view, role.name, volume):
            roles.setdefault((volume, program), []).append(role.name)
    for (volume, program), running in roles.items():
        mount = view.values["storage"][volume]["mountPath"]
        message = (
            f"{_run_by(running)} {program} of the image, but storage.{volume} at {mount} hides the file; mount the "
            "volume in a different folder"
        )
        yield Finding(("storage", volume, "mountPath"), message)


def _run_by(roles: Sequence[RoleName]) -> str:
    names = either(roles, "and")
    return f"role {names} runs" if len(roles) == 1 else f"the roles {names} run"


def _check_code(view: View) -> Iterator[Finding]:
    code = view.job.structure.code
    if not isinstance(code, FileCode):
        return
    mount = PurePosixPath(view.values["code"]["mountPath"])
    roles: dict[str, list[RoleName]] = {}
    for role in view.roles:
        program = program_of(view, role.name)
        if program is not None and program.parent == mount and program.name not in code.files:
            roles.setdefault(program.name, []).append(role.name)
    for name, running in roles.items():
        message = (
            f"{_run_by(running)} {mount / name}, but code.configMap hides the folder {mount} of the image and has no "
            f"file {shown(name)}; add the file to code.configMap.files, or change code.mountPath"
        )
        yield Finding(("code", "mountPath"), message)


def program_of(view: View, role: RoleName) -> PurePosixPath | None:
    """Return the path of the program that a role runs, or None if the command does not name a path."""
    words = [*list_words(view, role)]
    if not words or words[0].path[-2] != "command":
        return None  # Without a command, the entry point of the image runs, which tfgen cannot read.
    name = find_program_file([word.text for word in words])
    folder = view.effective_field(role, "workingDir")[1]
    path = PurePosixPath(folder or ".", name) if name else None
    return path if path is not None and path.is_absolute() else None


def _volume_that_hides(view: View, role: RoleName, program: PurePosixPath) -> str | None:
    """Return the name of the volume of `role` that hides the file `program`, or None.

    A volume hides the files below its mount path. If several volumes hide the file, return the volume with the deepest
    mount path.
    """
    mounts = {
        name: PurePosixPath(volume["mountPath"])
        for name, volume in view.volumes(role).items()
        if program.is_relative_to(volume["mountPath"])
    }
    return max(mounts, key=lambda name: len(mounts[name].parts), default=None)


def _is_empty(view: View, role: RoleName, name: str) -> bool:
    """Return True if the volume `name` starts empty and only the main container of the role mounts the volume."""
    volume: Mapping[str, Any] = view.values["storage"][name]
    containers = (*pod_parts.extra_containers(view, role), *pod_parts.template_items(view, role, "initContainers"))
    filled = any(
        pod_parts.name(mount) == name
        for container in containers
        for mount in pod_parts.items(container, "volumeMounts")
    )
    return not filled and ("emptyDir" in volume or "size" in volume.get("claim", {}))


RULES: Final = (
    Rule(
        "hidden-program",
        "warning",
        "A volume hides the folder of the image that contains the program.",
        _check_programs,
    ),
)

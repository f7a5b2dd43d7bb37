"""A task as a container of this machine: the command line of docker or podman.

It runs as the user, in this machine's network, where the tasks' addresses are. A secret is handed over by its name, so
that it stands in no list of processes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tfgen.errors import UsageError
from tfgen.graph.task_pods import Pod
from tfgen.local.folders import Mount
from tfgen.record import Record

RUNTIMES: Final = ("docker", "podman")


class Runtime(Record):
    """What runs containers here: the path of a program with docker's command line."""

    program: str

    @property
    def is_podman(self) -> bool:
        """Whether it is podman, or what it is called by."""
        return self.program.endswith("podman")


def find_runtime() -> Runtime:
    """The first of `RUNTIMES` that is installed.

    Raises:
        UsageError: there is none.
    """
    for name in RUNTIMES:
        program = shutil.which(name)
        if program:
            return Runtime(program)
    raise UsageError(
        "--image needs docker or podman, and neither is on the PATH; "
        "without --image the tasks are processes of this machine (see --python and --workdir)"
    )


def run_command(
    runtime: Runtime,
    name: str,
    pod: Pod,
    words: Sequence[str],
    variables: Mapping[str, str],
    secret: Collection[str],
    mounts: Sequence[Mount],
    gpus: str,
) -> tuple[str, ...]:
    """The command that runs a task's container, and ends with it.

    Args:
        runtime: what runs it.
        name: the container's, by which it is removed.
        pod: the task's.
        words: the container's command and arguments, each reference put in.
        variables: all of the container's own.
        secret: the names of those that are taken from this process's environment instead.
        mounts: its folders.
        gpus: those that it gets, with commas between them.
    """
    container = pod.container
    has_command = bool(container.get("command"))
    return (
        *(runtime.program, "run", "--rm", "--init", "--name", name, "--network", "host", "--ipc", "host"),
        *("--user", f"{os.getuid()}:{os.getgid()}"),
        *(["--userns", "keep-id"] if runtime.is_podman else []),
        *(part for key, value in variables.items() for part in _variable(key, value, secret)),
        *(part for mount in reversed(mounts) for part in ("--volume", f"{mount.folder}:{mount.path}")),
        *(["--workdir", container["workingDir"]] if container.get("workingDir") else []),
        *_gpu_options(runtime, gpus),
        *(["--entrypoint", words[0]] if has_command else []),
        container["image"],
        *(words[1:] if has_command else words),
    )


def remove_command(runtime: Runtime, name: str) -> tuple[str, ...]:
    """The command that removes a container, whether it runs or not."""
    return (runtime.program, "rm", "--force", name)


def _variable(name: str, value: str, secret: Collection[str]) -> tuple[str, str]:
    return "--env", name if name in secret else f"{name}={value}"


def _gpu_options(runtime: Runtime, gpus: str) -> list[str]:
    """https://docs.docker.com/engine/containers/resource_constraints/#gpu and podman's names by CDI."""
    if not gpus:
        return []
    if runtime.is_podman:
        return [part for gpu in gpus.split(",") for part in ("--device", f"nvidia.com/gpu={gpu}")]
    return ["--gpus", f'"device={gpus}"']

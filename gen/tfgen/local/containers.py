"""Returns the command lines of docker or podman that run a task as a container on this machine.

The container runs as the current user, and uses the network of this machine, because the tasks have addresses on this
machine. The command line contains only the name of a secret variable, so that no list of processes shows the value.
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
    """The container runtime of this machine: docker, or a program with the same command line, such as podman."""

    program: str

    @property
    def is_podman(self) -> bool:
        """Return True for podman, even for a podman program with the name docker."""
        return self.program.endswith("podman")


def find_runtime() -> Runtime:
    """Return the first container runtime of `RUNTIMES` that is on the PATH.

    Raises:
        UsageError: no container runtime is installed.
    """
    for name in RUNTIMES:
        program = shutil.which(name)
        if program:
            return Runtime(program)
    raise UsageError(
        "--image needs docker or podman on the PATH; install docker or podman, or remove --image to run the tasks as "
        "processes of this machine"
    )


class Container(Record):
    """The container of a task.

    Attributes:
        name: the name of the container, by which `remove_command` removes the container.
        pod: the pod of the task.
        words: the command and the arguments of the container, with the values of variables in place of `$(NAME)`.
        variables: all variables of the container.
        secrets: the names of the secret variables. The `docker run` process reads the values from its environment
            variables, because the command line must not contain the values.
        mounts: the folders that are mounted into the container.
        gpus: the indexes of the container's GPUs, separated by commas.
    """

    name: str
    pod: Pod
    words: Sequence[str]
    variables: Mapping[str, str]
    secrets: Collection[str]
    mounts: Sequence[Mount]
    gpus: str


def run_command(runtime: Runtime, container: Container) -> tuple[str, ...]:
    """Return the `docker run` command for the container of a task. The command ends when the container ends."""
    spec = container.pod.container
    has_command = bool(spec.get("command"))
    variables = container.variables.items()
    return (
        *(runtime.program, "run", "--rm", "--init", "--name", container.name, "--network", "host", "--ipc", "host"),
        *("--user", f"{os.getuid()}:{os.getgid()}"),
        *(["--userns", "keep-id"] if runtime.is_podman else []),
        *(part for key, value in variables for part in _variable(key, value, container.secrets)),
        *(part for mount in reversed(container.mounts) for part in ("--volume", f"{mount.folder}:{mount.path}")),
        *(["--workdir", spec["workingDir"]] if spec.get("workingDir") else []),
        *_gpu_options(runtime, container.gpus),
        *(["--entrypoint", container.words[0]] if has_command else []),
        spec["image"],
        *(container.words[1:] if has_command else container.words),
    )


def remove_command(runtime: Runtime, name: str) -> tuple[str, ...]:
    """Return the command that removes a container, even a running container."""
    return (runtime.program, "rm", "--force", name)


def _variable(name: str, value: str, secrets: Collection[str]) -> tuple[str, str]:
    return "--env", name if name in secrets else f"{name}={value}"


def _gpu_options(runtime: Runtime, gpus: str) -> list[str]:
    """Return the options that give a container its GPUs. `gpus` is a text such as "0,1"; empty for no GPU.

    For docker, the options are `--gpus "device=0,1"`. For podman, the options have `--device nvidia.com/gpu=0`, with
    the name of a CDI device, for each GPU. Source: https://docs.docker.com/engine/containers/resource_constraints/#gpu.
    """
    if not gpus:
        return []
    if runtime.is_podman:
        return [part for gpu in gpus.split(",") for part in ("--device", f"nvidia.com/gpu={gpu}")]
    return ["--gpus", f'"device={gpus}"']

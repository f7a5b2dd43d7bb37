"""The run lock: a sidecar that keeps two runs from writing to one folder.

A new run may start while the pods of the previous run are still in their grace period. The lock is a file lock on the
volume. The container is a sidecar of the task that saves the model, so it starts before the task and ends after the
task. A ConfigMap of the run contains the program.
"""

from __future__ import annotations

import hashlib
from typing import Final

from tfgen.graph import programs
from tfgen.graph.holes import (
    AllOf,
    AnyOf,
    Bound,
    Filtered,
    ForEach,
    HasItem,
    Key,
    Let,
    NamedTemplate,
    Node,
    Not,
    Parameter,
    Splice,
    Text,
    When,
    call,
    if_set,
)
from tfgen.graph.objects import environment, labels, names, resources, security, storage
from tfgen.graph.objects.values import ROLE, ROLE_VALUES, role_or_job_value, value
from tfgen.job.training_job import Profile, RoleName

LOCKED: Final = Bound("locked", "map")
VOLUME: Final = "tfgen-run-lock"
FILE: Final = "run_lock.py"

_NAME: Final = Bound("name")
_STORAGE: Final = Parameter("storage", "map")
_PREFIX: Final = "lock-"
_FOLDER: Final = "/volume"
_PROGRAM_FOLDER: Final = "/run-lock"
_PROGRAM: Final = programs.file("run_lock")
_DIGEST: Final = hashlib.sha256(_PROGRAM.text.encode()).hexdigest()[:8]
_ATTEMPTS: Final = 1_000_000  # one attempt per second, practically without limit: the previous run may end late


def locked(role: Node = ROLE) -> Filtered:
    """Return the volumes of a role to which only one run may write at a time, by the name of the volume.

    The caller must name the map `LOCKED`: Let(LOCKED.name, locked(), ...).
    """
    roles = Bound("storage", "list", "for")
    return Filtered(value("storage"), AllOf((storage.RUNS, AnyOf((Not(roles), HasItem(roles, role))))), item="storage")


def config_map(role: RoleName) -> Node:
    """Return the ConfigMap with the program of the run lock. If no volume of the role has a lock, the outputs omit it.

    Args:
        role: the role whose end also ends the run.
    """
    program: Node = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": labels.metadata(names.run_lock_program(_DIGEST), annotations=labels.BEFORE_PODS),
        "immutable": True,
        "data": {FILE: _PROGRAM},
    }
    return Let(LOCKED.name, locked(role), When(LOCKED, program))


def volume() -> When:
    """Return the pod volume that contains the program of the run lock. If no volume has a lock, the outputs omit it.

    The pod volume is part of a named template with the parameter `LOCKED.name`. The caller must pass the result of
    `locked` as the argument: Let(LOCKED.name, locked(), call(template, locked=LOCKED)).
    """
    source: Node = {"name": names.run_lock_program(_DIGEST)}
    return When(Parameter(LOCKED.name, LOCKED.type), {"name": VOLUME, "configMap": source})


def container_name(volume: str) -> str:
    """Return the name of the sidecar that locks a volume."""
    return f"{_PREFIX}{volume}"


def containers(profile: Profile, index_label: str) -> ForEach:
    """Return a sidecar for each volume with a lock.

    The caller must name the map of these volumes `LOCKED`: Let(LOCKED.name, locked(), ...).

    Args:
        profile: the security profile of the job.
        index_label: the label with which the controller tells a pod its index; empty for a pod without a controller.
    """
    volume = {_NAME.name: _NAME, _STORAGE.name: Bound("storage", "map")}
    template = NamedTemplate(
        "pod.runLock",
        "The sidecar that holds the run lock of a volume. The caller sets the name of the sidecar.",
        _container(profile, index_label),
        file="run-lock",
        parameters=(ROLE_VALUES.name, *volume),
    )
    container: Node = {"name": Text((_PREFIX, _NAME)), Splice("lock"): call(template, values=ROLE_VALUES, **volume)}
    return ForEach(LOCKED, container, item="storage")


def _container(profile: Profile, index_label: str) -> Node:
    name = Parameter(_NAME.name)
    marker = Text(("/tmp/.tfgen-lock-", name))  # noqa: S108 - the emptyDir of the pod
    index: dict[Key, Node] = {"value": "0"}
    if index_label:
        index = {"valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{index_label}']"}}}
    return {
        "image": role_or_job_value("image"),
        "imagePullPolicy": if_set(role_or_job_value("imagePullPolicy")),
        "restartPolicy": "Always",
        "command": ["python3", "-I", f"{_PROGRAM_FOLDER}/{FILE}", _FOLDER, marker],
        "env": [{"name": "TASK_INDEX", **index}, *environment.run_variables(), environment.NO_GPUS],
        "resources": resources.helper_resources("helpers"),
        # The main container starts when the program has the lock and creates the marker file.
        "startupProbe": {
            "exec": {"command": ["test", "-e", marker]},
            "periodSeconds": 1,
            "failureThreshold": _ATTEMPTS,
        },
        "securityContext": security.container_context_template(profile),
        "volumeMounts": [
            {"name": storage.TMP, "mountPath": "/tmp"},  # noqa: S108 - a path in the pod
            {"name": VOLUME, "mountPath": _PROGRAM_FOLDER, "readOnly": True},
            {"name": name, Splice("mount"): storage.mount(_STORAGE, _FOLDER)},
        ],
    }

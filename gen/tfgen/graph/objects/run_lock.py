"""What keeps two runs from writing to one folder at once: a container that holds a lock beside the task that saves.

A run that follows another starts while the earlier one's pods still have their grace period. The lock is a file lock
on the volume itself; the container starts before the task, as Kubernetes' sidecars do, and ends after it. Its program
is in a ConfigMap of the run.
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
    Named,
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
from tfgen.kubernetes import keys

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
_DAYS: Final = 1_000_000  # tries, one a second: an earlier run may take as long as it likes


def locked(role: Node = ROLE) -> Filtered:
    """What `LOCKED` is bound to: the role's volumes to which one run at a time writes."""
    roles = Bound("storage", "list", "for")
    return Filtered(value("storage"), AllOf((storage.RUNS, AnyOf((Not(roles), HasItem(roles, role))))), item="storage")


def config_map(role: RoleName) -> Node:
    """The program, where the role that ends the job has such volumes."""
    program: Node = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": labels.metadata(names.run_lock_program(_DIGEST), annotations=keys.BEFORE_PODS),
        "immutable": True,
        "data": {FILE: _PROGRAM},
    }
    return Let(LOCKED.name, locked(role), When(LOCKED, program))


def volume() -> When:
    """The volume that the program is in, for a part which is given the volumes with a lock."""
    source: Node = {"name": names.run_lock_program(_DIGEST)}
    return When(Parameter(LOCKED.name, LOCKED.type), {"name": VOLUME, "configMap": source})


def container_name(volume: str) -> str:
    """The name of the container that holds the lock of a volume."""
    return f"{_PREFIX}{volume}"


def containers(profile: Profile, index_label: str) -> ForEach:
    """A container for each of them. The pod's controller, if it has one, puts its index into the label."""
    volume = {_NAME.name: _NAME, _STORAGE.name: Bound("storage", "map")}
    part = Named(
        "pod.runLock",
        "The container that holds the lock of a volume, but for its name.",
        _container(profile, index_label),
        file="run-lock",
        parameters=(ROLE_VALUES.name, *volume),
    )
    container: Node = {"name": Text((_PREFIX, _NAME)), Splice("lock"): call(part, values=ROLE_VALUES, **volume)}
    return ForEach(LOCKED, container, item="storage")


def _container(profile: Profile, index_label: str) -> Node:
    name = Parameter(_NAME.name)
    held = Text(("/tmp/.tfgen-lock-", name))  # noqa: S108 - the pod's own emptyDir
    index: dict[Key, Node] = {"value": "0"}
    if index_label:
        index = {"valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{index_label}']"}}}
    return {
        "image": role_or_job_value("image"),
        "imagePullPolicy": if_set(role_or_job_value("imagePullPolicy")),
        "restartPolicy": "Always",
        "command": ["python3", "-I", f"{_PROGRAM_FOLDER}/{FILE}", _FOLDER, held],
        "env": [{"name": "TASK_INDEX", **index}, *environment.run(), environment.NO_GPUS],
        "resources": resources.helper_resources("helpers"),
        "startupProbe": {"exec": {"command": ["test", "-e", held]}, "periodSeconds": 1, "failureThreshold": _DAYS},
        "securityContext": security.container_part(profile),
        "volumeMounts": [
            {"name": storage.TMP, "mountPath": "/tmp"},  # noqa: S108 - a path in the pod
            {"name": VOLUME, "mountPath": _PROGRAM_FOLDER, "readOnly": True},
            {"name": name, Splice("mount"): storage.mount(_STORAGE, _FOLDER)},
        ],
    }

"""The volumes of the tasks: the volumes under ``storage`` with their claims, the training code, and the run lock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from tfgen.data_path import ValueType
from tfgen.graph import holes as h
from tfgen.graph import naming, podspec, programs
from tfgen.graph.holes import Key, Node, call, if_set
from tfgen.graph.naming import ROLE, ROLE_VALUES, role_or_job_value, value
from tfgen.graph.podspec import RUN_FOLDER
from tfgen.job.training_job import FileCode, GitCode, RoleName, Structure
from tfgen.kubernetes.pods import Profile, refuses
from tfgen.schema import kinds

# -- volumes -----------------------------------------------------------------------------------------------------------
#
# A claim belongs to the job. No pruning, upgrade or uninstall deletes the claim, because a rerun must not lose a model.


_NAME: Final = h.Bound("name")
_VOLUME: Final = h.Bound("storage", "map")
TMP: Final = "tmp"
_TMP_VOLUME: Final[Node] = {"name": TMP, "emptyDir": {}}
_TMP_MOUNT: Final[Node] = {"name": TMP, "mountPath": "/tmp"}  # noqa: S108 - a path in the pod
SHM: Final = "shm"

RUNS: Final = h.Bound("storage", "string", "runs")
SEPARATE: Final = h.Equal(h.Default(RUNS, ""), "Separate")

# The volume sources whose fields in the job file are those of Kubernetes.
SOURCES: Final = ("nfs", "hostPath", "configMap", "secret", "azureFile", "csi", "image", "flexVolume", "projected")
WRITABLE: Final = ("claim", "nfs", "hostPath", "azureFile", "csi", "flexVolume")
"""The volume sources that keep the data after the end of a pod."""


def sources(structure: Structure) -> tuple[str, ...]:
    """Return the volume sources that the security profile allows and the workload kind supports."""
    return tuple(
        source
        for source in SOURCES
        if not refuses(structure.profile, source)
        and not kinds.lacking({"workload": {"kind": structure.kind}}, ("storage", "*", source))
    )


def volumes(structure: Structure) -> list[Node]:
    """Return the volumes of a task's pod, with a volume for /tmp. TensorFlow needs a writable temporary folder."""
    size = role_or_job_value("shm")
    return [
        _TMP_VOLUME,
        h.When(size, {"name": SHM, "emptyDir": {"medium": "Memory", "sizeLimit": size}}),
        _for_role(ROLE, _volume(structure)),
    ]


def mounts() -> list[Node]:
    """Return the mounts of the main container."""
    return [
        _TMP_MOUNT,
        h.When(role_or_job_value("shm"), {"name": SHM, "mountPath": "/dev/shm"}),  # noqa: S108 - a path in the pod
        _for_role(
            ROLE,
            {
                "name": _NAME,
                h.Splice("mount"): mount(_VOLUME, _storage("mountPath")),
                "readOnly": h.When(_storage("readOnly"), True),
            },
        ),
    ]


def mount(volume: Node, path: Node) -> Node:
    """Return the fields of a volume mount. The mount contains the whole volume, a subfolder, or the folder of the run.

    Args:
        volume: the settings of the volume.
        path: the path in the container.
    """
    return call(_MOUNT, storage=volume, mountPath=path)


READER: Final = "tensorboard"
"""The name in the field ``for`` of a volume for TensorBoard's pod, which only reads the data of the tasks."""


_WHOLE_MOUNT: Final[Mapping[Key, Node]] = {
    "name": _NAME,
    "mountPath": h.Bound("storage", "string", "mountPath"),
    "subPath": if_set(h.Bound("storage", "string", "subPath")),
}
"""A mount of a volume, without regard to `runs`."""


def reader_volumes(structure: Structure) -> list[Node]:
    """Return the volumes of TensorBoard's pod."""
    return [_TMP_VOLUME, _for_role(READER, _volume(structure))]


def reader_mounts() -> list[Node]:
    """Return the read-only mounts of TensorBoard's pod, at the mount paths of the tasks.

    Each mount contains the folders of all tasks and of all runs in the volume.
    """
    return [_TMP_MOUNT, _for_role(READER, {**_WHOLE_MOUNT, "readOnly": True})]


def all_volumes(structure: Structure) -> list[Node]:
    """Return the volumes of a pod that mounts the volumes of all roles."""
    return [_TMP_VOLUME, h.ForEach(value("storage"), _volume(structure), item="storage")]


def all_mounts() -> list[Node]:
    """Return the mounts of a pod that mounts the volumes of all roles."""
    return [_TMP_MOUNT, h.ForEach(value("storage"), _WHOLE_MOUNT, item="storage")]


@cache
def claims() -> h.ForEach:
    """Return the claims that the job creates."""
    # An empty class binds a claim to an existing volume without a class:
    # https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume
    class_name = _storage("claim.storageClass")
    spec: Node = {
        "accessModes": [h.Default(_storage("claim.accessMode"), "ReadWriteMany")],
        "volumeName": if_set(_storage("claim.volumeName")),
        "storageClassName": h.When(_storage("claim.volumeName"), h.Default(class_name, ""), if_set(class_name)),
        "resources": {"requests": {"storage": h.Bound("storage", "quantity", "claim.size")}},
    }
    claim = naming.kubernetes_object("v1", "PersistentVolumeClaim", naming.of_job(_NAME), {"spec": spec}, naming.KEEP)
    # An existing claim replaces the new claim: Helm merges a name over the other keys of a claim.
    is_new = (h.Bound("storage", "map", "claim"), h.Not(_storage("claim.name")), _storage("claim.size"))
    sized = h.When(h.AllOf(is_new), claim)
    return h.ForEach(value("storage"), sized, item="storage")


def makes_claim(volume: Any) -> bool:
    """Return whether the job creates a claim for a volume, according to the values of the volume."""
    claim = volume.get("claim") if isinstance(volume, dict) else None
    return isinstance(claim, dict) and bool(claim.get("size")) and not claim.get("name")


def claim_name() -> Node:
    """Return the name of a volume's claim. The result belongs in a `ForEach` over the volumes of the job."""
    return call(_CLAIM_NAME, name=_NAME, storage=_VOLUME)


def _storage(field: str) -> h.Bound:
    return h.Bound("storage", "string", field)


def _parameter(field: str, value_type: ValueType = "string") -> h.Parameter:
    return h.Parameter("storage", value_type, field)


def _for_role(role: Node, body: Node) -> h.ForEach:
    """Return a list with the item `body` for each volume that a role mounts. In `body`, `storage` is the volume.

    Every role mounts a volume whose field ``for`` is empty.
    """
    roles = h.Bound("storage", "list", "for")
    return h.ForEach(value("storage"), h.When(h.AnyOf((h.Not(roles), h.HasItem(roles, role))), body), item="storage")


def _volume(structure: Structure) -> Node:
    return {"name": _NAME, h.Splice("source"): call(_source(sources(structure)), name=_NAME, storage=_VOLUME)}


@cache
def _source(sources: tuple[str, ...]) -> h.NamedTemplate:
    tree = {source: _parameter(source, "map") for source in ("claim", "emptyDir", *sources)}
    node: Node = h.When(tree["emptyDir"], {"emptyDir": h.NotEmpty(tree["emptyDir"])}, {"emptyDir": {}})
    for source in reversed(sources):
        node = h.When(tree[source], {source: h.NotEmpty(tree[source])}, node)
    claim = call(_CLAIM_NAME, name=h.Parameter("name"), storage=h.Parameter("storage", "map"))
    return h.NamedTemplate(
        "volumeSource",
        "The source of a volume. A volume without a source is an emptyDir.",
        h.When(tree["claim"], {"persistentVolumeClaim": {"claimName": claim}}, node),
        file="volumes",
        parameters=("name", "storage"),
    )


_CLAIM_NAME: Final = h.NamedTemplate(
    "claimName",
    "The name of the claim of a volume: claim.name, or the claim that the chart creates.",
    h.When(_parameter("claim.name"), _parameter("claim.name"), naming.of_job(h.Parameter("name"))),
    file="volumes",
    parameters=("name", "storage"),
)


def _mount_fields() -> Node:
    sub_path, expression = _parameter("subPath"), _parameter("subPathExpr")
    is_separate, parent = h.Equal(h.Default(_parameter("runs"), ""), "Separate"), h.Default(sub_path, expression)
    run_folder = h.When(parent, h.Text((parent, f"/$({RUN_FOLDER})")), f"$({RUN_FOLDER})")
    return {
        "mountPath": h.Parameter("mountPath"),
        "subPath": h.When(h.AllOf((sub_path, h.Not(is_separate))), sub_path),
        "subPathExpr": h.When(is_separate, run_folder, if_set(expression)),
    }


_MOUNT: Final = h.NamedTemplate(
    "mount",
    "The mount path and the folder of a volume. With runs: Separate, each run has a subfolder.",
    _mount_fields(),
    file="volumes",
    parameters=("storage", "mountPath"),
)


# -- code --------------------------------------------------------------------------------------------------------------
#
# Training code outside the image. An init container fetches the code from git, or a ConfigMap contains the code.
#
#     code: {git: {repository: https://git.example.com/ml/train.git, revision: v1.4.0, folder: training}}
#
# With this setting, the folder `training` of the repository is mounted read-only at /code in the main container. The
# init container runs git-sync (flags: https://github.com/kubernetes/git-sync/blob/v4.4.0/README.md#manual), which
# checks out the commit into a folder with the hash of the commit as its name, and makes a relative link to the folder.
# The kubelet follows the link when it mounts a path below the link.


CODE_VOLUME: Final = "tfgen-code"
SECRET_VOLUME: Final = "tfgen-git-secret"  # noqa: S105 - a volume's name
CODE_CONTAINER: Final = "fetch-code"

_ROOT: Final = "/git"
_LINK: Final = "current"
_SECRET_ROOT: Final = "/etc/git-secret"  # noqa: S105 - a path; git-sync looks for known_hosts there

# The user of the image, because ssh fails for a user that /etc/passwd does not contain. All users may read the files.
_USER: Final = 65533


def code_init_containers(structure: Structure) -> list[Node]:
    """Return the init containers that fetch the code. The user's init containers run later."""
    return [_fetch(structure, structure.code)] if isinstance(structure.code, GitCode) else []


def code_volumes(structure: Structure) -> list[dict[Key, Node]]:
    """Return the volumes of the code."""
    match structure.code:
        case FileCode(files=files):
            return [{"name": CODE_VOLUME, "configMap": {"name": _code_name(files)}}]
        case GitCode(secret=secret) as git:
            # 0440, because with fsGroup the files belong to root and to the group of git-sync.
            key: dict[Key, Node] = {"name": SECRET_VOLUME, "secret": {"secretName": secret, "defaultMode": 0o440}}
            return [{"name": CODE_VOLUME, "emptyDir": {}}, *([key] if git.is_ssh and secret else [])]
    return []


def code_mounts(structure: Structure) -> list[Node]:
    """Return the volume mounts of the code in the main container."""
    mount: dict[Key, Node] = {"name": CODE_VOLUME, "mountPath": value("code.mountPath")}
    match structure.code:
        case FileCode():
            return [{**mount, "readOnly": True}]
        case GitCode(folder=folder):
            return [{**mount, "subPath": f"{_LINK}/{folder}" if folder else _LINK, "readOnly": True}]
    return []


def code_config_map(code: FileCode) -> Node:
    """Return the ConfigMap with the code. The name contains a digest, so a restarted task gets the same code."""
    data: dict[Key, Node] = {name: h.File(f"files/code/{name}", text) for name, text in sorted(code.files.items())}
    return naming.immutable_config_map(_code_name(code.files), data)


def _code_name(files: Mapping[str, str]) -> h.Text:
    return naming.data("code", json.dumps(files, sort_keys=True), length=10)


def _fetch(structure: Structure, git: GitCode) -> Node:
    ssh = [f"--ssh-key-file={_SECRET_ROOT}/ssh-privatekey"] if git.is_ssh else []
    key: Node = {"name": SECRET_VOLUME, "mountPath": _SECRET_ROOT, "readOnly": True}
    return {
        "name": CODE_CONTAINER,
        "image": value("code.git.image"),
        "args": [
            f"--repo={git.repository}",
            h.Text(("--ref=", value("code.git.revision"))),
            f"--root={_ROOT}",
            f"--link={_LINK}",
            "--one-time",
            "--git-gc=off",
            "--sync-timeout=10m",
            # Ten attempts, ten seconds apart, because a failure of this container may count as a failure of the task.
            "--max-failures=10",
            *ssh,
        ],
        "env": [podspec.HOME, *_login(git), podspec.NO_GPUS],
        "resources": podspec.helper_resources("code.git"),
        "securityContext": {**podspec.container_context(structure.profile), "runAsUser": _USER},
        "volumeMounts": [
            _TMP_MOUNT,
            {"name": CODE_VOLUME, "mountPath": _ROOT},
            *([key] if git.is_ssh and git.secret else []),
        ],
    }


def _login(git: GitCode) -> list[Node]:
    """Return the environment variables with the user name and the password from a Secret of type basic-auth.

    git-sync gets the password from a variable, because the process list would show a password in the arguments.
    """
    if git.is_ssh or not git.secret:
        return []
    keys = {"GITSYNC_USERNAME": "username", "GITSYNC_PASSWORD": "password"}
    return [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": git.secret, "key": key}}} for name, key in keys.items()
    ]


# -- the run lock ------------------------------------------------------------------------------------------------------
#
# A new run may start while the pods of the previous run are still in their grace period. The lock is a file lock on the
# volume. The container is a sidecar of the task that saves the model, so it starts before the task and ends after the
# task. A ConfigMap of the run contains the program.


LOCKED: Final = h.Bound("locked", "map")
LOCK_VOLUME: Final = "tfgen-run-lock"
LOCK_FILE: Final = "run_lock.py"

_LOCK_NAME: Final = h.Bound("name")
_LOCK_STORAGE: Final = h.Parameter("storage", "map")
_LOCK_PREFIX: Final = "lock-"
_FOLDER: Final = "/volume"
_PROGRAM_FOLDER: Final = "/run-lock"
_PROGRAM: Final = programs.file("run_lock")
_PROGRAM_NAME: Final = naming.data("run-lock", _PROGRAM.text)
_ATTEMPTS: Final = 1_000_000  # one attempt per second, practically without limit: the previous run may end late


def locked(role: Node = ROLE) -> h.Filtered:
    """Return the volumes of a role to which only one run may write at a time, by the name of the volume.

    The caller must name the map `LOCKED`: Let(LOCKED.name, locked(), ...).
    """
    roles = h.Bound("storage", "list", "for")
    return h.Filtered(
        value("storage"), h.AllOf((RUNS, h.AnyOf((h.Not(roles), h.HasItem(roles, role))))), item="storage"
    )


def lock_config_map(role: RoleName) -> Node:
    """Return the ConfigMap with the program of the run lock. If no volume of the role has a lock, the outputs omit it.

    Args:
        role: the role whose end also ends the run.
    """
    config_map = naming.immutable_config_map(_PROGRAM_NAME, {LOCK_FILE: _PROGRAM})
    return h.Let(LOCKED.name, locked(role), h.When(LOCKED, config_map))


def lock_volume() -> h.When:
    """Return the pod volume that contains the program of the run lock. If no volume has a lock, the outputs omit it.

    The pod volume is part of a named template with the parameter `LOCKED.name`. The caller must pass the result of
    `locked` as the argument: Let(LOCKED.name, locked(), call(template, locked=LOCKED)).
    """
    source: Node = {"name": _PROGRAM_NAME}
    return h.When(h.Parameter(LOCKED.name, LOCKED.type), {"name": LOCK_VOLUME, "configMap": source})


def lock_container_name(volume: str) -> str:
    """Return the name of the sidecar that locks a volume."""
    return f"{_LOCK_PREFIX}{volume}"


def lock_containers(profile: Profile, index_label: str) -> h.ForEach:
    """Return a sidecar for each volume with a lock.

    The caller must name the map of these volumes `LOCKED`: Let(LOCKED.name, locked(), ...).

    Args:
        profile: the security profile of the job.
        index_label: the label with which the controller tells a pod its index; empty for a pod without a controller.
    """
    volume = {_LOCK_NAME.name: _LOCK_NAME, _LOCK_STORAGE.name: h.Bound("storage", "map")}
    template = h.NamedTemplate(
        "pod.runLock",
        "The sidecar that holds the run lock of a volume. The caller sets the name of the sidecar.",
        _lock_container(profile, index_label),
        file="run-lock",
        parameters=(ROLE_VALUES.name, *volume),
    )
    container: Node = {
        "name": h.Text((_LOCK_PREFIX, _LOCK_NAME)),
        h.Splice("lock"): call(template, values=ROLE_VALUES, **volume),
    }
    return h.ForEach(LOCKED, container, item="storage")


def _lock_container(profile: Profile, index_label: str) -> Node:
    name = h.Parameter(_LOCK_NAME.name)
    marker = h.Text(("/tmp/.tfgen-lock-", name))  # noqa: S108 - the emptyDir of the pod
    index: Node = podspec.task_index(index_label) if index_label else {"name": "TASK_INDEX", "value": "0"}
    return {
        "image": role_or_job_value("image"),
        "imagePullPolicy": if_set(role_or_job_value("imagePullPolicy")),
        "restartPolicy": "Always",
        "command": ["python3", "-I", f"{_PROGRAM_FOLDER}/{LOCK_FILE}", _FOLDER, marker],
        "env": [index, *podspec.run_variables(), podspec.NO_GPUS],
        "resources": podspec.helper_resources("helpers"),
        # The main container starts when the program has the lock and creates the marker file.
        "startupProbe": {
            "exec": {"command": ["test", "-e", marker]},
            "periodSeconds": 1,
            "failureThreshold": _ATTEMPTS,
        },
        "securityContext": podspec.container_context_template(profile),
        "volumeMounts": [
            _TMP_MOUNT,
            {"name": LOCK_VOLUME, "mountPath": _PROGRAM_FOLDER, "readOnly": True},
            {"name": name, h.Splice("mount"): mount(_LOCK_STORAGE, _FOLDER)},
        ],
    }

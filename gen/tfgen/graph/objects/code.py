"""Training code outside the image. An init container fetches the code from git, or a ConfigMap contains the code.

    code: {git: {repository: https://git.example.com/ml/train.git, revision: v1.4.0, folder: training}}

With this setting, the folder `training` of the repository is mounted read-only at /code in the main container. The init
container runs git-sync (flags: https://github.com/kubernetes/git-sync/blob/v4.4.0/README.md#manual), which checks out
the commit into a folder with the hash of the commit as its name, and makes a relative link to the folder. The kubelet
follows the link when it mounts a path below the link.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import File, Key, Node, Text
from tfgen.graph.objects import environment, labels, names, resources, security
from tfgen.graph.objects.storage import TMP
from tfgen.graph.objects.values import value
from tfgen.job.training_job import FileCode, GitCode, Structure

VOLUME: Final = "tfgen-code"
SECRET_VOLUME: Final = "tfgen-git-secret"  # noqa: S105 - a volume's name
CONTAINER: Final = "fetch-code"

_ROOT: Final = "/git"
_LINK: Final = "current"
_SECRET_ROOT: Final = "/etc/git-secret"  # noqa: S105 - a path; git-sync looks for known_hosts there

# The user of the image, because ssh fails for a user that /etc/passwd does not contain. All users may read the files.
_USER: Final = 65533


def init_containers(structure: Structure) -> list[Node]:
    """Return the init containers that fetch the code. The user's init containers run later."""
    return [_fetch(structure, structure.code)] if isinstance(structure.code, GitCode) else []


def volumes(structure: Structure) -> list[dict[Key, Node]]:
    """Return the volumes of the code."""
    match structure.code:
        case FileCode(files=files):
            return [{"name": VOLUME, "configMap": {"name": names.code(_digest(files))}}]
        case GitCode(secret=secret) as git:
            # 0440, because with fsGroup the files belong to root and to the group of git-sync.
            key: dict[Key, Node] = {"name": SECRET_VOLUME, "secret": {"secretName": secret, "defaultMode": 0o440}}
            return [{"name": VOLUME, "emptyDir": {}}, *([key] if git.is_ssh and secret else [])]
    return []


def mounts(structure: Structure) -> list[Node]:
    """Return the volume mounts of the code in the main container."""
    mount: dict[Key, Node] = {"name": VOLUME, "mountPath": value("code.mountPath")}
    match structure.code:
        case FileCode():
            return [{**mount, "readOnly": True}]
        case GitCode(folder=folder):
            return [{**mount, "subPath": f"{_LINK}/{folder}" if folder else _LINK, "readOnly": True}]
    return []


def config_map(code: FileCode) -> Node:
    """Return the ConfigMap with the code. The name contains a digest, so a restarted task gets the same code."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": labels.metadata(names.code(_digest(code.files)), annotations=labels.BEFORE_PODS),
        "immutable": True,
        "data": {name: File(file_path(name), text) for name, text in sorted(code.files.items())},
    }


def file_path(name: str) -> str:
    """Return the path of a code file in the chart and in the kustomize base, such as `files/code/train.py`."""
    return f"files/code/{name}"


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:10]


def _fetch(structure: Structure, git: GitCode) -> Node:
    ssh = [f"--ssh-key-file={_SECRET_ROOT}/ssh-privatekey"] if git.is_ssh else []
    key: Node = {"name": SECRET_VOLUME, "mountPath": _SECRET_ROOT, "readOnly": True}
    return {
        "name": CONTAINER,
        "image": value("code.git.image"),
        "args": [
            f"--repo={git.repository}",
            Text(("--ref=", value("code.git.revision"))),
            f"--root={_ROOT}",
            f"--link={_LINK}",
            "--one-time",
            "--git-gc=off",
            "--sync-timeout=10m",
            # Ten attempts, ten seconds apart, because a failure of this container may count as a failure of the task.
            "--max-failures=10",
            *ssh,
        ],
        "env": [
            {"name": "HOME", "value": "/tmp"},  # noqa: S108 - a path in the pod
            *_login(git),
            environment.NO_GPUS,
        ],
        "resources": resources.helper_resources("code.git"),
        "securityContext": {**security.container_context(structure.profile), "runAsUser": _USER},
        "volumeMounts": [
            {"name": TMP, "mountPath": "/tmp"},  # noqa: S108 - a path in the pod
            {"name": VOLUME, "mountPath": _ROOT},
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

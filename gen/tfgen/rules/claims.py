"""Claims that more pods or nodes mount than the access mode of the claim allows.

https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes. The rules check only the claims that the
job creates, because the job does not state the access mode of an existing claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.graph.objects import tensorboard
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import either

_FIX: Final = "set accessMode to ReadWriteMany, or list fewer roles in storage.{}.for"


def _check_nodes(view: View) -> Iterator[Finding]:
    for path, mode, volume, description in _shared_claims(view):
        if mode == "ReadWriteOnce":
            message = f"so all pods must run on one node; {_FIX.format(path[1])}"
            yield Finding(path, f"{description}, {message}", cause=f"{mode} {path}")
        elif mode == "ReadOnlyMany" and not volume.get("readOnly"):
            message = "so the pods cannot write to the claim; set accessMode to ReadWriteMany, or set readOnly: true"
            yield Finding(path, f"{description}, {message}", cause=f"{mode} {path}")


def _check_one_pod(view: View) -> Iterator[Finding]:
    for path, mode, _, description in _shared_claims(view):
        if mode == "ReadWriteOncePod":
            message = f"so only one pod would start; {_FIX.format(path[1])}"
            yield Finding(path, f"{description}, {message}", cause=f"{mode} {path}")


def _shared_claims(view: View) -> Iterator[tuple[Path, str, Mapping[str, Any], str]]:
    """Yield each claim that the job creates and that several pods mount.

    Each item has the path of the access mode, the access mode, the volume, and the beginning of a message. Example:
    ``(("storage", "model", "claim", "accessMode"), "ReadWriteOnce", {...}, "storage.model is a ReadWriteOnce claim of 3
    pods (1 of chief and 2 of worker)")``.
    """
    for name, volume in view.values["storage"].items():
        claim = volume.get("claim", {})
        mounting = [role.name for role in view.roles if name in view.volumes(role.name)]
        pods: dict[str, int] = {role: view.values["roles"][role].get("replicas", 1) for role in mounting}
        if view.has_tensorboard and name in view.volumes(tensorboard.ROLE):
            pods[tensorboard.ROLE] = 1
        if "size" in claim and sum(pods.values()) > 1:
            counts = either((f"{count} of {role}" for role, count in pods.items()), "and")
            mode = claim.get("accessMode", "ReadWriteMany")
            description = f"storage.{name} is a {mode} claim of {sum(pods.values())} pods ({counts})"
            yield ("storage", name, "claim", "accessMode"), mode, volume, description


RULES: Final = (
    Rule(
        "claim-access-mode",
        "warning",
        "Several pods mount a claim whose access mode allows only one node, or only reading.",
        _check_nodes,
    ),
    Rule(
        "claim-single-pod", "error", "Several pods mount a claim whose access mode allows only one pod.", _check_one_pod
    ),
)

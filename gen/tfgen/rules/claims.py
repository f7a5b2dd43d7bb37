"""Claims that more pods mount than their access mode is for.

https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes. An existing claim's mode is not known.
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


def _check_nodes(view: View) -> Iterator[Finding]:
    for path, mode, volume, shared in _shared(view):
        if mode == "ReadWriteOnce":
            message = "which start on one node only; make it ReadWriteMany, or name fewer roles in for"
            yield Finding(path, f"{shared}, {message}", cause=f"{mode} {path}")
        elif mode == "ReadOnlyMany" and not volume.get("readOnly"):
            yield Finding(
                path,
                f"{shared}, which cannot write to it; make it ReadWriteMany, or set readOnly",
                cause=f"{mode} {path}",
            )


def _check_one_pod(view: View) -> Iterator[Finding]:
    for path, mode, _, shared in _shared(view):
        if mode == "ReadWriteOncePod":
            message = "of which all but one would wait for ever; make it ReadWriteMany, or name fewer roles in for"
            yield Finding(path, f"{shared}, {message}", cause=f"{mode} {path}")


def _shared(view: View) -> Iterator[tuple[Path, str, Mapping[str, Any], str]]:
    """The claims that are made and that several pods mount: where the mode is said, it, the volume, who mounts it."""
    for name, volume in view.values["storage"].items():
        claim = volume.get("claim", {})
        mounting = [role.name for role in view.roles if name in view.volumes(role.name)]
        pods: dict[str, int] = {role: view.values["roles"][role].get("replicas", 1) for role in mounting}
        if view.has_tensorboard and name in view.volumes(tensorboard.ROLE):
            pods[tensorboard.ROLE] = 1
        if "size" in claim and sum(pods.values()) > 1:
            counts = either((f"{count} of {role}" for role, count in pods.items()), "and")
            mode = claim.get("accessMode", "ReadWriteMany")
            shared = f"storage.{name} is a {mode} claim of {sum(pods.values())} pods ({counts})"
            yield ("storage", name, "claim", "accessMode"), mode, volume, shared


RULES: Final = (
    Rule(
        "claim-access-mode",
        "warning",
        "A claim's access mode allows fewer nodes than mount it, or allows only reading.",
        _check_nodes,
    ),
    Rule("claim-single-pod", "error", "A claim for one pod is mounted by several.", _check_one_pod),
)

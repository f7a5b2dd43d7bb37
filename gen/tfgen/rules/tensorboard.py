"""Logs that TensorBoard cannot see."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final

from tfgen.objects.tensorboard import ROLE
from tfgen.problems import shown
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    if not view.has_tensorboard:
        return
    log_dir = view.values["tensorboard"]["logDir"]
    # An emptyDir is each pod's own.
    shared = [volume["mountPath"] for volume in view.volumes(ROLE).values() if "emptyDir" not in volume]
    if not any(_is_within(log_dir, mount) for mount in shared):
        message = (
            f"tensorboard.logDir {shown(log_dir)} is on no volume that TensorBoard shares with the job, so it would "
            f"show nothing; mount storage there, for {ROLE} too"
        )
        yield Finding(("tensorboard", "logDir"), message)


def _is_within(path: str, mount: str) -> bool:
    folder = posixpath.normpath("/" + mount.lstrip("/"))
    return posixpath.commonpath((folder, posixpath.normpath("/" + path.lstrip("/")))) == folder


RULES: Final = (Rule("tensorboard-log-dir", "warning", "TensorBoard does not see the logs.", _check),)

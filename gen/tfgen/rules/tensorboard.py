"""Logs that TensorBoard cannot see."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final

from tfgen.graph.fill import clean_path
from tfgen.graph.objects import environment
from tfgen.graph.objects.tensorboard import ROLE
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown


def _check(view: View) -> Iterator[Finding]:
    if not view.has_tensorboard:
        return
    log_dir = clean_path(view.values["tensorboard"]["logDir"])
    volumes = {clean_path(volume["mountPath"]): volume for volume in view.volumes(ROLE).values()}
    mount = max((mount for mount in volumes if posixpath.commonpath((mount, log_dir)) == mount), key=len, default="")
    # An emptyDir is each pod's own.
    if not mount or "emptyDir" in volumes[mount]:
        message = (
            f"tensorboard.logDir {shown(log_dir)} is on no volume that TensorBoard shares with the job, so it would "
            f"show nothing; mount storage there, for {ROLE} too"
        )
        yield Finding(("tensorboard", "logDir"), message)
    elif volumes[mount].get("runs") == "Separate" and log_dir != mount:
        run = view.evaluate(environment.run_folder())
        if posixpath.relpath(log_dir, mount).partition("/")[0] != run:
            message = (
                f"tensorboard.logDir {shown(log_dir)} is not there: TensorBoard sees the folders of all runs below "
                f"{mount}, {run} among them; say {mount}, which shows the runs side by side"
            )
            yield Finding(("tensorboard", "logDir"), message)


RULES: Final = (Rule("tensorboard-log-dir", "warning", "TensorBoard does not see the logs.", _check),)

"""Images without TensorBoard, and log folders that TensorBoard cannot read."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from tfgen import data_path
from tfgen.graph.fill import clean_path
from tfgen.graph.objects import environment
from tfgen.graph.objects.tensorboard import ROLE
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown

_IMAGE: Final = re.compile(r"(?:.*/)?tensorflow/tensorflow:(?:(\d+)\.(\d+)|nightly)")
"""Pattern of the official TensorFlow image, in any registry. The image contains no additional Python packages."""
_FIRST_WITHOUT: Final = (2, 21)
"""The first version of TensorFlow that does not install TensorBoard."""


def _check_image(view: View) -> Iterator[Finding]:
    if not view.has_tensorboard:
        return
    path = ("tensorboard", "image") if view.values["tensorboard"]["image"] else ("image",)
    image = str(data_path.at(view.values, path))
    match = _IMAGE.match(image)
    if match and (match[1] is None or (int(match[1]), int(match[2])) >= _FIRST_WITHOUT):
        message = (
            f"the image {shown(image)} of TensorBoard lacks the package tensorboard, because TensorFlow 2.21 and later "
            "do not install the package; set tensorboard.image to an image with tensorboard"
        )
        yield Finding(path, message)


def _check_log_dir(view: View) -> Iterator[Finding]:
    if not view.has_tensorboard:
        return
    log_dir = clean_path(view.values["tensorboard"]["logDir"])
    volumes = {clean_path(volume["mountPath"]): volume for volume in view.volumes(ROLE).values()}
    mount = max((mount for mount in volumes if posixpath.commonpath((mount, log_dir)) == mount), key=len, default="")
    # An emptyDir belongs to a single pod, so TensorBoard cannot read the files of a task.
    if not mount or "emptyDir" in volumes[mount]:
        message = (
            f"tensorboard.logDir {shown(log_dir)} is not on a volume that TensorBoard shares with the job; mount a "
            f"volume storage.NAME at logDir, and add {ROLE} to storage.NAME.for"
        )
        yield Finding(("tensorboard", "logDir"), message)
    elif volumes[mount].get("runs") == "Separate" and log_dir != mount:
        run = view.evaluate(environment.run_folder())
        if posixpath.relpath(log_dir, mount).partition("/")[0] != run:
            message = (
                f"tensorboard.logDir {shown(log_dir)} does not exist, because each run has a separate folder under "
                f"{mount}, for example {mount}/{run}; write {mount}, which shows all runs"
            )
            yield Finding(("tensorboard", "logDir"), message)


RULES: Final = (
    Rule(
        "tensorboard-image",
        "warning",
        "The image that would run TensorBoard does not contain TensorBoard.",
        _check_image,
    ),
    Rule(
        "tensorboard-log-dir",
        "warning",
        "TensorBoard cannot read the folder that `tensorboard.logDir` names.",
        _check_log_dir,
    ),
)

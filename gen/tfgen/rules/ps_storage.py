"""Volumes for checkpoints that the chief can write and the parameter servers cannot write.

Each parameter server writes its part of a checkpoint to the path that the chief sends. With CheckpointOptions, the
chief writes all parts: https://www.tensorflow.org/api_docs/python/tf/train/CheckpointOptions. The rule skips a claim
that only one node can mount: a user who sets such an access mode probably uses CheckpointOptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.graph.objects.storage import WRITABLE
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

# The complete device name is necessary: TensorFlow fails to save a checkpoint with /job:localhost, and fails to restore
# a checkpoint with /job:chief.
_CHIEF: Final = "/job:chief/replica:0/task:0/device:CPU:0"
_SINGLE_NODE_MODES: Final = ("ReadWriteOnce", "ReadWriteOncePod")


def _check(view: View) -> Iterator[Finding]:
    if not view.job.structure.role("ps"):
        return
    for name, volume in view.values["storage"].items():
        roles = volume.get("for", ["ps"])
        if "chief" in roles and "ps" not in roles and _is_shared(volume):
            message = (
                f"storage.{name}.for lists chief, but not ps, which writes parts of checkpoints; add ps, set readOnly, "
                f"or save with tf.train.CheckpointOptions(experimental_io_device='{_CHIEF}')"
            )
            yield Finding(("storage", name, "for"), message)


def _is_shared(volume: Mapping[str, Any]) -> bool:
    """Return True if pods on several nodes can write to a volume."""
    writable = any(source in volume for source in WRITABLE) and not volume.get("readOnly")
    return writable and volume.get("claim", {}).get("accessMode") not in _SINGLE_NODE_MODES


RULES: Final = (
    Rule("storage-not-on-ps", "warning", "The chief can write to a volume that ps does not mount.", _check),
)

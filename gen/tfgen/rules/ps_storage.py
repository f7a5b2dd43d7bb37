"""Checkpoints that the parameter servers cannot write.

Each writes its own part of a checkpoint, at the path that the chief names, unless the program has the chief write all:
https://www.tensorflow.org/api_docs/python/tf/train/CheckpointOptions. Who makes a claim for one node alone, which is
not the default, has chosen the latter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.graph.objects.storage import WRITABLE
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

# Seen: /job:localhost fails when a checkpoint is saved, and /job:chief alone when it is restored.
_CHIEF: Final = "/job:chief/replica:0/task:0/device:CPU:0"
_OF_ONE_NODE: Final = ("ReadWriteOnce", "ReadWriteOncePod")


def _check(view: View) -> Iterator[Finding]:
    if not view.job.structure.role("ps"):
        return
    for name, volume in view.values["storage"].items():
        has = volume.get("for", ["ps"])
        if "chief" in has and "ps" not in has and _is_shared(volume):
            message = (
                f"storage.{name} is for the chief, but not for ps, which write parts of a checkpoint too: add ps, set "
                f"readOnly, or save with tf.train.CheckpointOptions(experimental_io_device='{_CHIEF}')"
            )
            yield Finding(("storage", name, "for"), message)


def _is_shared(volume: Mapping[str, Any]) -> bool:
    """Whether the volume can be written, and from several nodes."""
    writable = any(source in volume for source in WRITABLE) and not volume.get("readOnly")
    return writable and volume.get("claim", {}).get("accessMode") not in _OF_ONE_NODE


RULES: Final = (Rule("storage-not-on-ps", "warning", "The chief can write where ps cannot.", _check),)

"""The queue of Kueue or Volcano in which the objects of a job wait."""

from __future__ import annotations

from collections.abc import Iterable

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object


def queue_name(objects: Iterable[Object]) -> str:
    """Return the queue of the first object that names a queue; empty if no object names a queue."""
    for item in objects:
        labels = item["metadata"].get("labels") or {}
        queue = labels.get(keys.QUEUE) or (item.get("spec") or {}).get("queue")
        if isinstance(queue, str) and queue:
            return queue
    return ""

"""The queue of the objects of a job: a queue of Kueue or Volcano."""

from __future__ import annotations

from collections.abc import Iterable

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object


def queue_name(objects: Iterable[Object]) -> str:
    """Return the queue that the first object with a queue names; empty without such an object."""
    for item in objects:
        labels = item["metadata"].get("labels") or {}
        queue = labels.get(keys.QUEUE) or (item.get("spec") or {}).get("queue")
        if isinstance(queue, str) and queue:
            return queue
    return ""

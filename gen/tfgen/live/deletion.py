"""Detects the deletion of a run before its end, for a command that reads the state of the run repeatedly."""

from __future__ import annotations


class Deletion:
    """The answers of the server about the objects of a run."""

    def __init__(self) -> None:
        self._was_present = self._had_deciding_object = False
        self._misses = 0

    def is_deleted(self, *, has_deciding_object: bool, has_tasks: bool) -> bool:
        """Store an answer, and return whether the run was deleted.

        A run that the command has never seen is not deleted, because the objects may not exist yet. The deciding object
        counts as deleted only after two answers without the object, because a tool may replace the object by a new one.

        Args:
            has_deciding_object: whether the cluster has the object that decides when the run ends.
            has_tasks: whether the cluster has a pod of a task.
        """
        is_present = has_deciding_object or has_tasks
        self._misses = 0 if has_deciding_object else self._misses + 1
        is_deleted = (self._was_present and not is_present) or (self._had_deciding_object and self._misses > 1)
        self._was_present |= is_present
        self._had_deciding_object |= has_deciding_object
        return is_deleted

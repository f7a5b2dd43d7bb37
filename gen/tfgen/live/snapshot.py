"""What a cluster had of some runs at one moment, as plain objects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.live.wanted_run import Identity, WantedRun
from tfgen.record import EMPTY, Record

NO_OBJECTS: Final[Mapping[Identity, Object]] = MappingProxyType({})


class Snapshot(Record):
    """The objects of one namespace.

    Attributes:
        pods: all of the runs' jobs.
        objects: what the runs are made of, where it is there.
        warnings: the events of type Warning, the oldest first.
        unseen: what could not be looked at, and why.
        logs: the end of the log of the task that leads each run, by the pod's name.
    """

    pods: tuple[Object, ...] = ()
    objects: Mapping[Identity, Object] = NO_OBJECTS
    warnings: tuple[Object, ...] = ()
    unseen: tuple[str, ...] = ()
    logs: Mapping[str, str] = EMPTY

    def pods_of(self, run: WantedRun) -> tuple[Object, ...]:
        """The pods of a run, its finisher's among them."""
        labels = {keys.JOB: run.full_name, keys.RUN: run.run}
        return tuple(pod for pod in self.pods if labels.items() <= pod["metadata"].get("labels", {}).items())

    def warning_of(self, item: Object) -> Object | None:
        """The last warning of an object that is there now."""
        own = [event for event in self.warnings if event["involvedObject"].get("uid") == item["metadata"]["uid"]]
        return own[-1] if own else None

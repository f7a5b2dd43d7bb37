"""What a cluster had of some runs at one moment, as plain objects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tfgen.graph.objects.finisher import ROLE as FINISHER
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
        workloads: the Workloads of Kueue, of the objects by whose end the runs end.
        logs: the end of the log of the task that leads each run, and of its finisher, by the pod's name.
    """

    pods: tuple[Object, ...] = ()
    objects: Mapping[Identity, Object] = NO_OBJECTS
    warnings: tuple[Object, ...] = ()
    unseen: tuple[str, ...] = ()
    logs: Mapping[str, str] = EMPTY
    workloads: tuple[Object, ...] = ()

    def pods_of(self, run: WantedRun) -> tuple[Object, ...]:
        """The pods of a run, its finisher's among them."""
        labels = {keys.JOB: run.full_name, keys.RUN: run.run}
        return tuple(pod for pod in self.pods if labels.items() <= pod["metadata"].get("labels", {}).items())

    def finisher_pod(self, run: WantedRun) -> Object | None:
        """Return the newest pod of a run's finisher."""
        pods = [pod for pod in self.pods_of(run) if pod["metadata"]["labels"].get(keys.ROLE) == FINISHER]
        return max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)

    def log_of_finisher(self, run: WantedRun) -> str:
        """Return the end of the log of a run's finisher; empty where nobody read the log."""
        pod = self.finisher_pod(run)
        return self.logs.get(pod["metadata"]["name"], "") if pod else ""

    def warning_of(self, item: Object) -> Object | None:
        """The last warning of an object that is there now."""
        own = [event for event in self.warnings if event["involvedObject"].get("uid") == item["metadata"]["uid"]]
        return own[-1] if own else None

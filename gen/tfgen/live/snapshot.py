"""The objects of runs in a cluster at one moment, as plain objects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tfgen.graph.objects.finisher import ROLE as FINISHER
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, creation_time
from tfgen.live.declared_run import DeclaredRun, Identity
from tfgen.record import EMPTY, Record

_STEPS: Final = ("PodScheduled", "PodReadyToStartContainers", "Initialized")
"""The conditions of a pod that are true after a step of its start."""
NO_OBJECTS: Final[Mapping[Identity, Object]] = MappingProxyType({})


class Snapshot(Record):
    """The objects of runs in a namespace at one moment.

    Attributes:
        pods: pods of the jobs to which the runs belong.
        objects: other objects of the runs, by API version, kind and name. An object that the cluster does not have is
            missing.
        warnings: events of type Warning, the oldest first.
        unreadable: messages about the kinds and the logs that tfgen could not read. Each message contains the reason.
        workloads: Kueue's Workloads of the runs.
        logs: last lines of the logs that tfgen read, by name of the pod.
        nodes: nodes that have pods of the runs and may be lost, by name.
    """

    pods: tuple[Object, ...] = ()
    objects: Mapping[Identity, Object] = NO_OBJECTS
    warnings: tuple[Object, ...] = ()
    unreadable: tuple[str, ...] = ()
    logs: Mapping[str, str] = EMPTY
    workloads: tuple[Object, ...] = ()
    nodes: Mapping[str, Object] = EMPTY

    def deciding_object_of(self, run: DeclaredRun) -> Object | None:
        """Return the object that decides when a run ends, such as the chief's Job; None for a missing object."""
        return self.objects.get(run.deciding_object) if run.deciding_object else None

    def pods_with(self, labels: Mapping[str, str]) -> tuple[Object, ...]:
        """Return the pods that have the given labels."""
        return tuple(pod for pod in self.pods if labels.items() <= pod["metadata"].get("labels", {}).items())

    def pods_of(self, run: DeclaredRun) -> tuple[Object, ...]:
        """Return the pods of a run, including the pods of the finisher."""
        return self.pods_with({keys.JOB: run.full_name, keys.RUN: run.run})

    def finisher_pod(self, run: DeclaredRun) -> Object | None:
        """Return the newest pod of a run's finisher; None without such a pod."""
        pods = [pod for pod in self.pods_of(run) if pod["metadata"]["labels"].get(keys.ROLE) == FINISHER]
        return max(pods, key=creation_time, default=None)

    def log_of_finisher(self, run: DeclaredRun) -> str:
        """Return the last lines of the log of a run's finisher; empty if tfgen did not read the log."""
        pod = self.finisher_pod(run)
        return self.logs.get(pod["metadata"]["name"], "") if pod else ""

    def warning_of(self, item: Object) -> Object | None:
        """Return the last event of type Warning about an object; None without such an event.

        An event about an earlier step of the start of a pod is left out: for example, FailedScheduling does not apply
        to a pod that has a node.
        """
        uid, since = item["metadata"]["uid"], _last_step(item)
        events = [event for event in self.warnings if event["involvedObject"].get("uid") == uid]
        return next((event for event in reversed(events) if event_time(event) >= since), None)


def event_time(event: Object) -> str:
    """Return the time at which an event occurred last. Each version of the event API uses a different field."""
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next(filter(None, times), "") or event["metadata"]["creationTimestamp"])


def _last_step(item: Object) -> str:
    """Return the time of the last step of the start of a pod; empty for another object.

    https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions
    """
    conditions = (item.get("status") or {}).get("conditions") or ()
    times = (
        condition.get("lastTransitionTime") or ""
        for condition in conditions
        if condition["type"] in _STEPS and condition.get("status") == "True"
    )
    return max(times, default="")

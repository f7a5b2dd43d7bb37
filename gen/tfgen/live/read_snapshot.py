"""Reads what a cluster has of some runs: a list of each kind, once for all runs of a namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tfgen.errors import TfgenError
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.live.api import Api, ApiError
from tfgen.live.missed_start import missed_start
from tfgen.live.run_end import end_of
from tfgen.live.run_state import leading_pod
from tfgen.live.snapshot import Snapshot
from tfgen.live.task_errors import failed_pods
from tfgen.live.task_state import main_container
from tfgen.live.wanted_run import Identity, WantedRun
from tfgen.live.workload import queue_of, workload_kind, workload_query

_POD: Final = ("v1", "Pod")
_EVENT: Final = ("v1", "Event")
_LINES: Final = "200"
"""Lines at the end of a log in which the last step is looked for."""
_FAILED_TASKS: Final = 3
"""Tasks that failed whose logs are read: the cause is in the first of them."""
_NO_LOG: Final = (400, 404)
"""The answers for a container that has not started, and for a pod that is gone."""


def read_snapshot(api: Api, namespace: str, runs: Sequence[WantedRun], *, with_logs: bool = False) -> Snapshot:
    """What a namespace has of some runs.

    Args:
        api: the cluster.
        namespace: where they are.
        runs: all of them.
        with_logs: whether the ends of logs are read: of the leading task, of the first tasks that failed, and of the
            finisher after the run.

    Raises:
        ApiError: the account may not list the pods, or the objects by whose end the runs end.
        TfgenError: there is no answer in time, or the server has the pods of a run without the kind that made them.
    """
    names = ",".join(sorted({run.job for run in runs}))
    reader = _Reader(api, namespace)
    full_names = ",".join(sorted({run.full_name for run in runs}))
    pods = reader.objects(_POD, {"labelSelector": f"{keys.JOB} in ({full_names})"})
    needed = {run.end[:2] for run in runs if run.end}
    _check_kinds(api, runs, Snapshot(tuple(pods)))
    objects: dict[Identity, Object] = {}
    wanted = {item for run in runs for item in run.identities}
    for kind in sorted({item[:2] for item in wanted}):
        query = {"labelSelector": f"{keys.NAME} in ({names})"}
        listed = reader.objects(kind, query) if kind in needed else reader.objects_if_allowed(kind, query)
        objects |= {item: there for item, there in _by_identity(kind, listed).items() if item in wanted}
    warnings = reader.objects_if_allowed(_EVENT, {"fieldSelector": "type=Warning"})
    queued = [item for run in runs if run.end in objects and queue_of(item := objects[run.end])]
    workloads = reader.objects_if_allowed(workload_kind(api), workload_query(queued)) if queued else []
    snapshot = Snapshot(tuple(pods), objects, tuple(sorted(warnings, key=_time)), workloads=tuple(workloads))
    logged = [pod for run in runs if with_logs for pod in _logged_pods(run, snapshot)]
    containers = {pod["metadata"]["name"]: main_container(pod) for pod in logged}
    logs = {pod: reader.log(pod, container) for pod, container in containers.items()}
    return snapshot.replaced(logs=logs, unseen=tuple(reader.unseen))


def read_progress(api: Api, namespace: str, run: WantedRun) -> Snapshot:
    """Return the pods of a run, the object by whose end the run ends, and the finisher.

    Raises:
        ApiError: the account may not list them.
        TfgenError: there is no answer in time.
    """
    reader = _Reader(api, namespace)
    pods = read_pods(api, namespace, {keys.JOB: run.full_name, keys.RUN: run.run})
    objects: dict[Identity, Object] = {}
    if run.end:
        listed = _by_identity(run.end[:2], reader.objects(run.end[:2], {"labelSelector": f"{keys.NAME}={run.job}"}))
        objects = {item: live for item, live in listed.items() if item in (run.end, run.finisher)}
    return Snapshot(tuple(pods), objects)


def read_pods(api: Api, namespace: str, labels: Mapping[str, str]) -> list[Object]:
    """The pods that have some labels.

    Raises:
        ApiError: the account may not list them.
        TfgenError: there is no answer in time.
    """
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    return _Reader(api, namespace).objects(_POD, {"labelSelector": selector})


def _check_kinds(api: Api, runs: Iterable[WantedRun], snapshot: Snapshot) -> None:
    """Refuse a server that has the pods of a run, and not the kind of the object by whose end the run ends."""
    for run in runs:
        if run.end and snapshot.pods_of(run) and api.resource(*run.end[:2]) is None:
            raise TfgenError(
                f"{run.title}: the server has pods of the run, and no kind {run.end[1]} of {run.end[0]}: "
                "check the server's address"
            )


def _logged_pods(run: WantedRun, snapshot: Snapshot) -> Iterator[Object]:
    """Yield the pods of a run whose logs are read."""
    leader = leading_pod(run, snapshot)
    if leader:
        yield leader
    yield from failed_pods(run, snapshot)[:_FAILED_TASKS]
    finisher = snapshot.finisher_pod(run)
    if finisher and _is_over(run, snapshot):
        yield finisher


def _is_over(run: WantedRun, snapshot: Snapshot) -> bool:
    """Test whether the finisher of a run has something to do: the run has ended, or missed its start deadline."""
    lead = snapshot.objects.get(run.end) if run.end else None
    return bool(lead and end_of(lead)) or missed_start(run, snapshot) is not None


class _Reader:
    """Lists, and keeps what it was not allowed to see."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self.unseen: list[str] = []

    def objects(self, kind: tuple[str, str], query: Mapping[str, str]) -> list[Object]:
        """The objects of a kind; none where the cluster does not know it."""
        resource = self._api.resource(*kind)
        if resource is None:
            self.unseen.append(f"{kind[1]} of {kind[0]}: the cluster has no such kind")
            return []
        return self._api.objects(resource, self._namespace, query)

    def objects_if_allowed(self, kind: tuple[str, str], query: Mapping[str, str]) -> list[Object]:
        """The same, for what a run can be judged without."""
        try:
            return self.objects(kind, query)
        except ApiError as error:
            if not error.is_forbidden:
                raise
            self.unseen.append(f"{kind[1]}: {error}")
            return []

    def log(self, pod: str, container: str) -> str:
        """Return the end of a container's log; empty where the container has not started."""
        resource = self._api.resource(*_POD)
        if resource is None:
            return ""
        try:
            query = {"container": container, "tailLines": _LINES}
            return self._api.text(resource.at(self._namespace, pod, "log"), query)
        except TfgenError as error:
            if not (isinstance(error, ApiError) and error.status in _NO_LOG):
                self.unseen.append(f"log of {pod}: {error}")
            return ""


def _by_identity(kind: tuple[str, str], items: Iterable[Object]) -> dict[Identity, Object]:
    """A list's items say neither their version nor their kind."""
    whole = [{"apiVersion": kind[0], "kind": kind[1], **item} for item in items]
    return {identity(item): item for item in whole}


def _time(event: Object) -> str:
    """When an event was last seen: each generation of Kubernetes' API has its own field."""
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next(filter(None, times), "") or event["metadata"]["creationTimestamp"])

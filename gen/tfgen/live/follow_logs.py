"""Follows the logs of a run's containers through restarts, new pods and a server that comes and goes.

A thread looks every two seconds at which pods there are. Each container has a thread that reads its log. Where a log
breaks off, it is asked for again from the time of the last whole line (`log_text.LogPosition`). Once a server that was
lost is back, all logs are: a connection that was lost with it may seem to be alive.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.graph.objects.names import CONTAINER
from tfgen.kubernetes.object import Object
from tfgen.live.api import NOT_FOUND, Api, ApiError
from tfgen.live.kubernetes_client import urllib3
from tfgen.live.log_text import LogLine, LogPosition, read_line
from tfgen.live.missed_start import missed_start
from tfgen.live.read_snapshot import read_progress
from tfgen.live.run_end import End, end_of
from tfgen.live.snapshot import Snapshot
from tfgen.live.task_pod import path_of
from tfgen.live.task_state import ENDED, index_of, main_container, role_of, task_name
from tfgen.live.wanted_run import WantedRun
from tfgen.record import EMPTY, Record

_LOOK: Final = 2.0
"""Seconds between two looks at the pods."""
_BAD_REQUEST: Final = 400
"""The answer for a container that has not started."""


class LogChoice(Record):
    """Which logs are read.

    Attributes:
        role: of one role alone; None for all.
        index: of one task of each role alone; None for all.
        all_containers: whether those beside the one that trains are read too, and the finisher.
        since: how far back the logs go at first, in seconds; None for their beginning.
        tail: how many lines each has at first; None for all.
    """

    role: str | None = None
    index: int | None = None
    all_containers: bool = False
    since: int | None = None
    tail: int | None = None

    def takes(self, pod: Object, run: WantedRun) -> bool:
        """Whether a pod is one of them."""
        role = role_of(pod)
        is_task = role in run.roles or not run.controllers
        is_of_role = role == self.role if self.role is not None else is_task or self.all_containers
        return is_of_role and self.index in (None, index_of(pod))

    def containers(self, pod: Object) -> list[str]:
        """The names of the containers of a pod that are, in the order of their start."""
        if self.all_containers:
            spec = pod["spec"]
            return [item["name"] for item in (*spec.get("initContainers", ()), *spec["containers"])]
        return [main_container(pod)]


class TaskLine(Record):
    """A line of a task's log.

    Attributes:
        task: its role and its index.
        container: empty for the one that trains.
    """

    task: str
    container: str
    line: LogLine


def read_logs(
    api: Api, namespace: str, run: WantedRun, choice: LogChoice, pods: Iterable[Object]
) -> Iterator[TaskLine]:
    """Yield the lines of the logs of a run, one log after another.

    Raises:
        ApiError: the account may not read them.
        TfgenError: there is no answer.
    """
    for pod in pods:
        if choice.takes(pod, run):
            for container in filter(lambda name: _has_started(pod, name), choice.containers(pod)):
                text = api.text(path_of(api, namespace, pod, "log"), _query(container, choice))
                task, name = _names(pod, container)
                yield from (TaskLine(task, name, read_line(line)) for line in text.splitlines())


class Follower:
    """The threads that follow the logs of a run, from entering it on.

    Attributes:
        end: the end of the run; None while the run goes on.
        progress: the result of the last look at the pods.
    """

    def __init__(self, api: Api, namespace: str, run: WantedRun, choice: LogChoice) -> None:
        self._api, self._namespace, self._run, self._choice = api, namespace, run, choice
        self._lines: queue.SimpleQueue[TaskLine | Exception | None] = queue.SimpleQueue()
        self._followed: dict[tuple[str, str], _ContainerLog] = {}
        self.end: End | None = None
        self.progress = Snapshot()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Follower:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        for log in [*self._followed.values()]:  # the thread that looks may add a log meanwhile
            log.close()

    def lines(self) -> Iterator[TaskLine]:
        """The lines as they come, until the run has ended and all of its containers have.

        Raises:
            TfgenError: the account may not read them.
        """
        while True:
            item = self._lines.get()
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item

    def _look(self) -> None:
        try:
            while not self._look_once():
                if self._stop.wait(_LOOK):
                    return
        except Exception as error:  # it is raised where the lines are read
            self._lines.put(error)
            return
        self._lines.put(None)

    def _look_once(self) -> bool:
        """Follow what has come, and say whether all is over."""
        failures = self._api.failures
        self.progress = snapshot = read_progress(self._api, self._namespace, self._run)
        is_lost = self._api.failures != failures
        pods = {pod["metadata"]["uid"]: pod for pod in snapshot.pods if self._choice.takes(pod, self._run)}
        for uid, pod in pods.items():
            for container in self._choice.containers(pod):
                if (uid, container) not in self._followed and _has_started(pod, container):
                    log = _ContainerLog(self._api, self._namespace, pod, container, self._choice, self._lines.put)
                    self._followed[uid, container] = log
                    if self._stop.is_set():
                        log.close()
        for (uid, _), log in self._followed.items():
            log.show(pods.get(uid), is_lost=is_lost)
        lead = snapshot.objects.get(self._run.end) if self._run.end else None
        self.end = (end_of(lead) if lead else None) or missed_start(self._run, snapshot)
        return self.end is not None and all(log.is_done for log in self._followed.values())


class _ContainerLog:
    """The log of one container, and the thread that reads it."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        pod: Object,
        container: str,
        choice: LogChoice,
        put: Callable[[TaskLine | Exception | None], None],
    ) -> None:
        self._api, self._namespace, self._container, self._choice, self._put = api, namespace, container, choice, put
        self._pod: Object | None = pod
        self._names = _names(pod, container)
        self._path = path_of(api, namespace, pod, "log")
        self._position = LogPosition()
        self._response: Any = None
        self._shown = threading.Condition()
        self._looks = 0
        self._is_closed = self._is_lost = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Whether it has been read to its end."""
        return not self._thread.is_alive()

    def show(self, pod: Object | None, *, is_lost: bool) -> None:
        """Take the pod as it is now, None where it is gone; and begin again where the server was lost meanwhile."""
        with self._shown:
            self._pod, self._is_lost = pod, is_lost
            self._looks += 1
            self._shown.notify_all()
        if is_lost:
            self._break_off()

    def close(self) -> None:
        """End it."""
        with self._shown:
            self._is_closed = True
            self._shown.notify_all()
        self._break_off()

    def _read(self) -> None:
        starts = _restarts(self._pod, self._container)
        try:
            while not self._is_closed and self._pod is not None:
                restarts = _restarts(self._pod, self._container)
                if restarts == starts or self._take(previous=True):  # what it still wrote before it was started again
                    starts = restarts
                    self._take(follow=True)
                self._wait_for_looks()
                has_ended = self._pod is not None and _has_ended(self._pod, self._container)
                if has_ended and _restarts(self._pod, self._container) == starts and self._take():
                    return  # all of it was there, its last line too
        except Exception as error:  # it is raised where the lines are read
            self._put(error)

    def _take(self, *, follow: bool = False, previous: bool = False) -> bool:
        """Read the log from where it was left, and say whether it was read to its end."""
        begin = self._position.ask()
        query = _query(self._container, LogChoice() if begin else self._choice)
        query |= {"sinceTime": begin} if begin else {}
        query |= {"follow": "true"} if follow else {}
        query |= {"previous": "true"} if previous else {}
        rest = b""
        try:
            self._response = response = self._api.stream(self._path, query)
            if self._is_closed:
                return False
            for part in response.stream(decode_content=False):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    self._put_line(line)
            if rest and not follow:
                self._put_line(rest)  # of one that is followed the rest may yet come
        except ApiError as error:
            if error.is_forbidden:
                raise
            return previous and error.status in (_BAD_REQUEST, NOT_FOUND)  # nobody has it any more
        except (OSError, urllib3.exceptions.HTTPError):
            return False
        finally:
            if self._response is not None:
                self._response.close()
                self._response = None
        return True

    def _put_line(self, raw: bytes) -> None:
        line = read_line(raw.decode("utf-8", "replace"))
        if self._position.is_new(line):
            self._put(TaskLine(*self._names, line))

    def _wait_for_looks(self) -> None:
        """Wait until the pod was looked at after the log ended: the first look may have begun before."""
        with self._shown:
            looks = self._looks
            self._shown.wait_for(lambda: self._is_closed or self._is_lost or self._looks >= looks + 2)
            self._is_lost = False

    def _break_off(self) -> None:
        """Have the thread that reads see an end."""
        response = self._response
        if response is not None:
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # it has ended by itself
                response.shutdown()


def _names(pod: Object, container: str) -> tuple[str, str]:
    """The task of a container, and the container's name where it is not the one that trains."""
    return task_name(pod), "" if container == CONTAINER else container


def _query(container: str, choice: LogChoice) -> dict[str, str]:
    """https://kubernetes.io/docs/reference/kubernetes-api/core/pod-v1/#get-read-log-of-the-specified-pod."""
    query = {"container": container, "timestamps": "true"}
    if choice.since is not None:
        query["sinceSeconds"] = str(choice.since)
    if choice.tail is not None:
        query["tailLines"] = str(choice.tail)
    return query


def _status(pod: Object | None, container: str) -> Mapping[str, Any]:
    status = pod["status"] if pod else EMPTY
    statuses: Sequence[Mapping[str, Any]] = (
        *status.get("initContainerStatuses", ()),
        *status.get("containerStatuses", ()),
    )
    return next((item for item in statuses if item["name"] == container), EMPTY)


def _restarts(pod: Object | None, container: str) -> int:
    restarts: int = _status(pod, container).get("restartCount", 0)
    return restarts


def _has_started(pod: Object, container: str) -> bool:
    status = _status(pod, container)
    return bool(status.get("lastState")) or any(key in status.get("state", {}) for key in ("running", "terminated"))


def _has_ended(pod: Object, container: str) -> bool:
    """Whether a container has ended and is not started again."""
    if pod["status"].get("phase") in ENDED:
        return True
    end = _status(pod, container).get("state", {}).get("terminated")
    own = [item for item in pod["spec"].get("initContainers", ()) if item["name"] == container]
    policy = own[0].get("restartPolicy", "OnFailure") if own else pod["spec"].get("restartPolicy")
    return end is not None and (policy == "Never" or (policy == "OnFailure" and not end["exitCode"]))

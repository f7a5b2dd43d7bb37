"""Reads and follows the logs of the tasks of a run."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from queue import SimpleQueue
from typing import Any, Final

import urllib3

from tfgen.errors import TfgenError
from tfgen.graph.naming import CONTAINER
from tfgen.kubernetes.object import Object
from tfgen.live.api import NOT_FOUND, Api, ApiError
from tfgen.live.clusters import read_progress
from tfgen.live.run import DeclaredRun, Deletion, End, Snapshot, end_of_run
from tfgen.live.tasks import ENDED, container_status, index_of, main_container, role_of, task_name
from tfgen.record import Record

_TIME: Final = re.compile(r"(?P<whole>[\d-]{10}T[\d:]{8})(?:\.(?P<part>\d{1,9}))?(?P<zone>Z|[+-]\d\d:\d\d)")


class LogLine(Record):
    """A line of a log with the kubelet's timestamp.

    Attributes:
        time: timestamp as text, unchanged; empty if the line has no timestamp.
        at: timestamp in whole seconds since 1970, and the remaining nanoseconds, for comparisons.
        text: line without the timestamp.
    """

    time: str
    at: tuple[int, int]
    text: str


def read_line(raw: str) -> LogLine:
    """Parse a line of a log that begins with a timestamp such as `2026-01-31T12:00:00.5Z`."""
    time, _, text = raw.partition(" ")
    match = _TIME.fullmatch(time)
    if match is None:  # the kubelet writes its errors into the log without a time
        return LogLine("", (0, 0), raw)
    whole = datetime.fromisoformat(match["whole"] + match["zone"])
    return LogLine(time, (int(whole.timestamp()), int((match["part"] or "").ljust(9, "0"))), text)


class LogPosition:
    """The position up to which tfgen has read a container's log. After a new request, tfgen skips the earlier lines.

    The position consists of the timestamp of the last line, and the number of lines with this timestamp so far.
    """

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._lines_of_last = 0
        self._to_drop = 0
        self._is_repeated = False

    def begin(self) -> str:
        """Prepare a new request. Return the value of the query parameter `sinceTime`; empty to read the whole log."""
        if self._last is None:
            return ""
        self._is_repeated, self._to_drop = True, self._lines_of_last
        return datetime.fromtimestamp(self._last[0], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def advance(self, line: LogLine) -> bool:
        """Move the position past a line. Return False for a line that an earlier request has already read."""
        if self._is_repeated and self._last is not None and line.time:
            if line.at < self._last:
                return False
            if line.at == self._last and self._to_drop:
                self._to_drop -= 1
                return False
            self._is_repeated = False
        if line.at == self._last:
            self._lines_of_last += 1
        elif line.time:
            self._last, self._lines_of_last = line.at, 1
        return True


_UPDATE_SECONDS: Final = 2.0
"""Seconds between two requests for the list of pods."""


class LogChoice(Record):
    """Selection of the logs to read.

    Attributes:
        role: the only role to read; None for all roles.
        index: the index of the only task to read in each role; None for all tasks.
        all_containers: whether to also read the finisher, and all other containers of the pods.
        since: maximum age of a line in seconds; None for the whole log.
        tail: number of existing lines to read at the end of each log; None for all lines.
    """

    role: str | None = None
    index: int | None = None
    all_containers: bool = False
    since: int | None = None
    tail: int | None = None

    def takes(self, pod: Object, run: DeclaredRun) -> bool:
        """Test whether the selection includes the logs of a pod."""
        role = role_of(pod)
        is_task = role in run.roles or not run.controllers
        is_of_role = role == self.role if self.role is not None else is_task or self.all_containers
        return is_of_role and self.index in (None, index_of(pod))

    def containers(self, pod: Object) -> list[str]:
        """Return the names of the selected containers of a pod, in start order."""
        if self.all_containers:
            spec = pod["spec"]
            return [item["name"] for item in (*spec.get("initContainers", ()), *spec["containers"])]
        return [main_container(pod)]


class TaskLine(Record):
    """A line of a task's log, with the names of the task and of the container.

    Attributes:
        task: role and index of the task, such as `worker-1`.
        container: name of the container; empty for the training container.
    """

    task: str
    container: str
    line: LogLine


def read_logs(
    api: Api, namespace: str, run: DeclaredRun, choice: LogChoice, pods: Iterable[Object]
) -> Iterator[TaskLine]:
    """Yield the lines that a run's logs contain now, one log after another.

    Raises:
        ApiError: the account may not read the logs.
        TfgenError: the server does not answer.
    """
    for pod in pods:
        if choice.takes(pod, run):
            for container in filter(lambda name: _has_started(pod, name), choice.containers(pod)):
                text = api.text(_path_of(api, namespace, pod), _query(container, choice))
                task, name = _names(pod, container)
                yield from (TaskLine(task, name, read_line(line)) for line in text.splitlines())


class Follower:
    """The threads that follow the logs of a run. The context manager starts and stops the threads.

    Attributes:
        queue: lines of all logs; then an error, or None after the end of the run.
        end: end of the run; None while the run continues.
        is_deleted: whether the run was deleted before its end.
        progress: pods and other objects of the run at the time of the last list request.
    """

    def __init__(self, api: Api, namespace: str, run: DeclaredRun, choice: LogChoice) -> None:
        self.api, self.namespace, self._run, self.choice = api, namespace, run, choice
        self.queue: SimpleQueue[TaskLine | Exception | None] = SimpleQueue()
        self._followed: dict[tuple[str, str], _ContainerLog] = {}
        self.end: End | None = None
        self.is_deleted, self._deletion = False, Deletion()
        self.progress = Snapshot()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Follower:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        for log in [*self._followed.values()]:  # a copy: the thread that lists the pods may add a log meanwhile
            log.close()

    def lines(self) -> Iterator[TaskLine]:
        """Yield each line when the server sends the line, until the run and all containers have ended or were deleted.

        Raises:
            TfgenError: the account may not read the logs.
        """
        while True:
            item = self.queue.get()
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item

    def _follow(self) -> None:
        try:
            while not self._update_logs():
                if self._stop.wait(_UPDATE_SECONDS):
                    return
            self.queue.put(None)
        except Exception as error:  # `lines` raises the error in the caller's thread
            self.queue.put(error)

    def _update_logs(self) -> bool:
        """List the pods, and follow the logs of new containers. Return True if the run and all logs have ended."""
        failures = self.api.failures
        self.progress = snapshot = read_progress(self.api, self.namespace, self._run)
        is_lost = self.api.failures != failures
        pods = {pod["metadata"]["uid"]: pod for pod in snapshot.pods if self.choice.takes(pod, self._run)}
        for uid, pod in pods.items():
            for container in self.choice.containers(pod):
                if (uid, container) not in self._followed and _has_started(pod, container):
                    log = self._followed[uid, container] = _ContainerLog(self, pod, container)
                    if self._stop.is_set():
                        log.close()
        for (uid, _), log in self._followed.items():
            log.update(pods.get(uid), is_lost=is_lost)
        self.end = end_of_run(self._run, snapshot) or self.end
        self.is_deleted = self._deletion.is_deleted(
            has_deciding_object=snapshot.find(self._run.deciding_object) is not None, has_tasks=bool(snapshot.pods)
        )
        return bool(self.end or self.is_deleted) and all(log.is_done for log in self._followed.values())


class _ContainerLog:
    """The log of a container, and the thread that reads the log."""

    def __init__(self, follower: Follower, pod: Object, container: str) -> None:
        self._api, self._choice, self._emit = follower.api, follower.choice, follower.queue.put
        self._pod: Object | None = pod
        self._container = container
        self._names = _names(pod, container)
        self._path = _path_of(follower.api, follower.namespace, pod)
        self._position = LogPosition()
        self._response: Any = None
        self._updated = threading.Condition()
        self._updates = 0
        self._is_closed = self._is_lost = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Return True after the thread has read the log to the end."""
        return not self._thread.is_alive()

    def update(self, pod: Object | None, *, is_lost: bool) -> None:
        """Store the pod from the newest list of pods. If the server has failed, request the log again.

        Args:
            pod: the pod, with its current status; None for a deleted pod.
            is_lost: whether the server has failed since the last call.
        """
        with self._updated:
            self._pod, self._is_lost = pod, is_lost
            self._updates += 1
            self._updated.notify_all()
        if is_lost:
            self._break_off()

    def close(self) -> None:
        """Stop the thread that reads the log."""
        with self._updated:
            self._is_closed = True
            self._updated.notify_all()
        self._break_off()

    def _read(self) -> None:
        starts = _restarts(self._pod, self._container)
        try:
            while not self._is_closed and self._pod is not None:
                restarts = _restarts(self._pod, self._container)
                if restarts == starts or self._read_once(previous=True):  # the last lines before the restart
                    starts = restarts
                    self._read_once(follow=True)
                self._wait_for_updates()
                has_ended = self._pod is not None and _has_ended(self._pod, self._container)
                if has_ended and _restarts(self._pod, self._container) == starts and self._read_once():
                    return  # the log of an ended container is complete, with the last line
        except Exception as error:  # `Follower.lines` raises the error in the caller's thread
            self._emit(error)

    def _read_once(self, *, follow: bool = False, previous: bool = False) -> bool:
        """Request the log from the last position, and read the answer. Return True if the log was read to the end.

        Args:
            follow: whether the server sends new lines until the container ends.
            previous: whether to read the log of the container before the last restart.
        """
        begin = self._position.begin()
        query = _query(self._container, LogChoice() if begin else self._choice)
        query |= {"sinceTime": begin} if begin else {}
        query |= {"follow": "true"} if follow else {}
        query |= {"previous": "true"} if previous else {}
        partial = b""
        try:
            self._response = response = self._api.stream(self._path, query)
            if self._is_closed:
                return False
            for part in response.stream(decode_content=False):
                *lines, partial = (partial + part).split(b"\n")
                for line in lines:
                    self._emit_line(line)
            if partial and not follow:  # a followed log may send the remainder of the line after the next request
                self._emit_line(partial)
        except ApiError as error:
            if error.is_forbidden:
                raise
            # The kubelet has deleted the previous log.
            return previous and error.status in (HTTPStatus.BAD_REQUEST, NOT_FOUND)
        except (OSError, urllib3.exceptions.HTTPError):
            return False
        finally:
            if self._response is not None:
                self._response.close()
                self._response = None
        return True

    def _emit_line(self, raw: bytes) -> None:
        line = read_line(raw.decode("utf-8", "replace"))
        if self._position.advance(line):
            self._emit(TaskLine(*self._names, line))

    def _wait_for_updates(self) -> None:
        """Wait for a status of the pod that the server sent after the end of the log.

        Return at once after a failure of the server, or after `close`.
        """
        with self._updated:
            # The server may have sent the status of the next `update` before the end of the log. So wait for two calls.
            updates = self._updates
            self._updated.wait_for(lambda: self._is_closed or self._is_lost or self._updates >= updates + 2)
            self._is_lost = False

    def _break_off(self) -> None:
        """Shut down the connection of the log, so that the reading thread sees the end of the stream."""
        response = self._response
        if response is not None:
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # the connection has already ended
                response.shutdown()


def _path_of(api: Api, namespace: str, pod: Object) -> str:
    """Return the API path of the logs of a pod.

    Raises:
        TfgenError: the server does not serve pods.
    """
    resource = api.resource("v1", "Pod")
    if resource is None:
        raise TfgenError("the server has no kind Pod of v1; check the address of the server")
    return resource.at(namespace, pod["metadata"]["name"], "log")


def _names(pod: Object, container: str) -> tuple[str, str]:
    """Return the name of a pod's task, and the name of the container. The name of the training container is empty.

    Example: ("worker-1", "").
    """
    return task_name(pod), "" if container == CONTAINER else container


def _query(container: str, choice: LogChoice) -> dict[str, str]:
    """Return the query parameters of a request for a container's log.

    https://kubernetes.io/docs/reference/kubernetes-api/core/pod-v1/#get-read-log-of-the-specified-pod
    """
    query = {"container": container, "timestamps": "true"}
    if choice.since is not None:
        query["sinceSeconds"] = str(choice.since)
    if choice.tail is not None:
        query["tailLines"] = str(choice.tail)
    return query


def _restarts(pod: Object | None, container: str) -> int:
    return int(container_status(pod, container).get("restartCount", 0)) if pod else 0


def _has_started(pod: Object, container: str) -> bool:
    status = container_status(pod, container)
    return bool(status.get("lastState")) or any(key in status.get("state", {}) for key in ("running", "terminated"))


def _has_ended(pod: Object, container: str) -> bool:
    """Test whether a container has ended and the kubelet does not restart the container."""
    if pod["status"].get("phase") in ENDED:
        return True
    end = container_status(pod, container).get("state", {}).get("terminated")
    init = [item for item in pod["spec"].get("initContainers", ()) if item["name"] == container]
    policy = init[0].get("restartPolicy", "OnFailure") if init else pod["spec"].get("restartPolicy")
    return end is not None and (policy == "Never" or (policy == "OnFailure" and not end["exitCode"]))

"""Tests of the logs of tasks: their lines, and the containers that tfgen follows."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.support.recorded_run import read_run
from tfgen.errors import TfgenError
from tfgen.live.api import ApiError, Resource
from tfgen.live.logs import Follower, LogChoice, LogPosition, TaskLine, read_line, read_logs
from tfgen.live.run_state import last_step


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-11-22T10:00:00.1Z", "2026-11-22T10:00:00.11Z"),
        ("2026-11-22T10:00:00.999999999Z", "2026-11-22T10:00:01Z"),
        ("2026-11-22T12:00:00.5+02:00", "2026-11-22T10:00:00.500000001Z"),
    ],
)
def test_times_are_compared_by_what_they_mean(earlier: str, later: str) -> None:
    """A kubelet writes times in the time zone of its node, and omits trailing zeros."""
    assert read_line(f"{earlier} a").at < read_line(f"{later} b").at


def test_a_line_keeps_its_text() -> None:
    line = read_line("2026-11-22T10:00:00Z   two  words ")
    assert (line.time, line.text) == ("2026-11-22T10:00:00Z", "  two  words ")
    assert read_line("failed to open the log").text == "failed to open the log"


LOG = [
    "2026-11-22T10:00:00.1Z a",
    "2026-11-22T10:00:00.2Z b",
    "2026-11-22T10:00:00.2Z b",
    "2026-11-22T10:00:00.2Z b",
    "2026-11-22T10:00:00.3Z c",
    "2026-11-22T10:00:01.1Z a",
    "2026-11-22T10:00:01.1Z d",
]


@pytest.mark.parametrize("first", range(len(LOG) + 1))
@pytest.mark.parametrize("second", range(len(LOG) + 1))
def test_a_log_that_breaks_off_twice_is_read_once(first: int, second: int) -> None:
    position = LogPosition()
    read: list[str] = []

    def take(lines: Sequence[str]) -> None:
        begin = position.begin()
        lines = [raw for raw in lines if not begin or raw[:19] >= begin[:19]]  # the API compares whole seconds
        read.extend(raw for raw in lines if position.advance(read_line(raw)))

    take(LOG[:first])
    take(LOG[:second])
    take(LOG)
    assert read == LOG


def test_a_clock_that_is_set_back_loses_no_line() -> None:
    position = LogPosition()
    raws = ["2026-11-22T10:00:05Z a", "2026-11-22T10:00:01Z b", "2026-11-22T10:00:02Z c"]
    assert all(position.advance(read_line(raw)) for raw in raws)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("INFO step 100: loss 0.4\nINFO step 200: loss 0.3\n", 200),
        ("global_step = 12", 12),
        ("Step 3/100", 3),
        ("timestep 9", None),
        ("", None),
    ],
)
def test_the_last_step_is_read(text: str, step: int | None) -> None:
    assert last_step(text) == step


RECORDED = Path(__file__).parent / "succeeded"
RUN = read_run(RECORDED / "job.yaml", None)
OBJECTS: Mapping[str, Any] = json.loads((RECORDED / "cluster.json").read_text(encoding="utf-8"))
RESOURCES = {"Pod": Resource("/api/v1", "pods", True), "Job": Resource("/apis/batch/v1", "jobs", True)}
PODS = OBJECTS["pods"]
CHIEF = LogChoice(role="chief")

A = b"2026-11-22T09:45:50.1Z step 100: loss 0.9\n"
B = b"2026-11-22T09:45:51.2Z step 200: loss 0.5\n"
C = "2026-11-22T09:45:52.3Z fertig: Größe 3\n".encode()
LAST = b"2026-11-22T09:45:53.4Z done"
TEXTS = ("step 100: loss 0.9", "step 200: loss 0.5", "fertig: Größe 3", "done")


class Stream:
    """A recorded answer in parts. With `stays`, the answer stays open after the last part, like a followed log."""

    def __init__(self, *parts: bytes, stays: bool = False, error: Exception | None = None) -> None:
        self._parts, self._stays, self._error = parts, stays, error
        self.was_shut_down, self.was_closed = threading.Event(), threading.Event()

    def stream(self, *, decode_content: bool) -> Iterator[bytes]:
        assert decode_content is False
        yield from self._parts
        if self._error:
            raise self._error
        if self._stays:
            assert self.was_shut_down.wait(20), "nobody ended the stream"

    def shutdown(self) -> None:
        self.was_shut_down.set()

    def close(self) -> None:
        self.was_closed.set()


class RecordedApi:
    """An API server that returns recorded objects, and one recorded stream after the other.

    Attributes:
        queries: The queries of all streams, in order.
        failures: The number of failed tries, as in `Api`.
    """

    def __init__(self, *streams: Stream | Exception, states: Sequence[tuple[int, Mapping[str, Any]]] = ()) -> None:
        """Set the streams, and the states of the chief's container with the number of streams before each state."""
        self._streams, self._states = [*streams], states
        self.queries: list[Mapping[str, str]] = []
        self.failures = 0
        self.log_of_pods: dict[str, str] = {}
        self.fails_at_look: int | None = None
        self.is_deleted_at_look: int | None = None
        self.looks = 0
        self.before_stream: Callable[[], None] = lambda: None

    def resource(self, _api_version: str, kind: str) -> Resource | None:
        return RESOURCES.get(kind)

    def objects(self, resource: Resource, namespace: str, query: Mapping[str, str]) -> list[Any]:
        assert namespace == "ml"
        if self.is_deleted_at_look is not None and self.looks >= self.is_deleted_at_look:
            return []
        if resource.name == "jobs":
            jobs = [item for item in OBJECTS["objects"] if item["kind"] == "Job"]
            return jobs if self._state() is None else [{**job, "status": {}} for job in jobs]
        assert query == {"labelSelector": "tfgen/job=mnist,tfgen/run="}
        self.looks += 1
        if self.looks == self.fails_at_look:
            self.failures += 1
        is_deleted = self.is_deleted_at_look is not None and self.looks >= self.is_deleted_at_look
        return [] if is_deleted else [self._pod(pod) for pod in OBJECTS["pods"]]

    def stream(self, path: str, query: Mapping[str, str]) -> Stream:
        assert path == "/api/v1/namespaces/ml/pods/mnist-chief-0-nz2c4/log"
        self.queries.append(dict(query))
        self.before_stream()
        stream = self._streams.pop(0)
        if isinstance(stream, Exception):
            raise stream
        return stream

    def text(self, path: str, query: Mapping[str, str]) -> str:
        self.queries.append(dict(query))
        return self.log_of_pods[path.split("/")[-2]]

    def _state(self) -> Mapping[str, Any] | None:
        """Return the state of the chief's container, or None for the recorded end of the container."""
        now = [state for number, state in self._states if len(self.queries) >= number]
        return now[-1] or None if now else None

    def _pod(self, pod: Any) -> Any:
        state = self._state()
        if pod["metadata"]["labels"]["tfgen/role"] != "chief" or state is None:
            return pod
        changed = copy.deepcopy(pod)
        changed["status"]["phase"] = "Running"
        changed["status"]["containerStatuses"][0] |= state
        return changed


RUNNING: Mapping[str, Any] = {"state": {"running": {}}, "restartCount": 0}
RESTARTED: Mapping[str, Any] = {"state": {"running": {}}, "restartCount": 1}
ENDED: Mapping[str, Any] = {}


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfgen.live.logs._UPDATE_SECONDS", 0.001)


def follow(api: RecordedApi, choice: LogChoice = CHIEF) -> tuple[list[TaskLine], Follower]:
    with Follower(api, "ml", RUN, choice) as follower:  # type: ignore[arg-type]  # a recorded server in place of a real one
        return [*follower.lines()], follower


def texts(lines: Sequence[TaskLine]) -> tuple[str, ...]:
    return tuple(line.line.text for line in lines)


def test_lines_come_whole_however_the_stream_is_cut() -> None:
    whole = A + B + C + LAST
    middle = whole.index("ö".encode()) + 1
    cut = [whole[:7], whole[7 : len(A)], whole[len(A) : middle], whole[middle:]]
    api = RecordedApi(Stream(*cut), Stream(C, LAST), states=[(0, RUNNING), (1, ENDED)])
    lines, follower = follow(api)
    assert texts(lines) == TEXTS
    assert {(line.task, line.container) for line in lines} == {("chief-0", "")}
    assert follower.end is not None
    assert (follower.end.result, follower.end.at) == ("Succeeded", "2026-11-22T09:45:59Z")


def test_a_log_is_asked_for_again_from_its_last_line() -> None:
    choice = LogChoice(role="chief", since=60, tail=2)
    api = RecordedApi(Stream(A, B), Stream(B, C, LAST), states=[(0, RUNNING), (1, ENDED)])
    lines, _ = follow(api, choice)
    assert texts(lines) == TEXTS
    first = {"container": "tensorflow", "timestamps": "true", "follow": "true", "sinceSeconds": "60", "tailLines": "2"}
    again = {"container": "tensorflow", "timestamps": "true", "sinceTime": "2026-11-22T09:45:51Z"}
    assert api.queries == [first, again]


def test_a_container_that_starts_again_loses_no_line() -> None:
    """Unread lines of a restarted container are in the log of the previous container."""
    streams = [Stream(A), Stream(A, B), Stream(C), Stream(C, LAST)]
    api = RecordedApi(
        *streams, states=[(0, RUNNING), (1, RESTARTED), (3, {**RESTARTED, "state": {"terminated": {"exitCode": 0}}})]
    )
    with Follower(api, "ml", RUN, CHIEF) as follower:  # type: ignore[arg-type]  # a recorded server
        lines = follower.lines()
        assert [next(lines).line.text for _ in TEXTS] == [*TEXTS]
    assert [("previous" in query, "follow" in query) for query in api.queries] == [
        (False, True),
        (True, False),
        (False, True),
        (False, False),
    ]


def test_the_log_of_a_container_that_nobody_has_any_more_is_left_out() -> None:
    streams = [Stream(A), ApiError(404, "404: not found"), Stream(C), Stream(C, LAST)]
    api = RecordedApi(
        *streams, states=[(0, RUNNING), (1, RESTARTED), (3, {**RESTARTED, "state": {"terminated": {"exitCode": 0}}})]
    )
    with Follower(api, "ml", RUN, CHIEF) as follower:  # type: ignore[arg-type]  # a recorded server
        lines = follower.lines()
        assert [next(lines).line.text for _ in range(3)] == [TEXTS[0], *TEXTS[2:]]


def test_a_stream_of_a_lost_server_is_broken_off_and_asked_for_again() -> None:
    silent = Stream(A, stays=True)
    api = RecordedApi(silent, Stream(A, B, C, LAST), Stream(C, LAST), states=[(0, RUNNING), (2, ENDED)])
    api.fails_at_look = 3
    lines, _ = follow(api)
    assert silent.was_shut_down.is_set()
    assert texts(lines) == TEXTS


@pytest.mark.parametrize(
    "error", [OSError("reset"), urllib3.exceptions.ProtocolError("broken"), ApiError(500, "500: no kubelet")], ids=str
)
def test_a_stream_that_breaks_is_asked_for_again(error: Exception) -> None:
    broken: Stream | Exception = error if isinstance(error, ApiError) else Stream(A, B[:9], error=error)
    api = RecordedApi(broken, Stream(A, B, C, LAST), Stream(C, LAST), states=[(0, RUNNING), (2, ENDED)])
    assert texts(follow(api)[0]) == TEXTS


def test_what_the_account_may_not_read_is_an_error_where_the_lines_are_read() -> None:
    api = RecordedApi(ApiError(403, "403: pods/log is forbidden"), states=[(0, RUNNING)])
    with pytest.raises(TfgenError, match="pods/log is forbidden"):
        follow(api)


def test_nobody_waits_for_a_stream_that_is_left() -> None:
    silent = Stream(A, stays=True)
    with Follower(RecordedApi(silent, states=[(0, RUNNING)]), "ml", RUN, CHIEF) as follower:  # type: ignore[arg-type]
        assert next(follower.lines()).line.text == TEXTS[0]
    assert silent.was_closed.wait(10)


def test_a_stream_that_opens_while_the_follower_is_left_is_closed() -> None:
    silent = Stream(A, stays=True)
    api = RecordedApi(silent, states=[(0, RUNNING)])
    follower = Follower(api, "ml", RUN, CHIEF)  # type: ignore[arg-type]  # a recorded server
    api.before_stream = follower.__exit__
    with follower:
        assert silent.was_closed.wait(10)


def test_logs_are_read_once_without_following() -> None:
    api = RecordedApi()
    api.log_of_pods = {"mnist-chief-0-nz2c4": (A + B).decode(), "mnist-finisher-77h56": "no time here\n"}
    lines = [*read_logs(api, "ml", RUN, CHIEF, PODS)]  # type: ignore[arg-type]  # a recorded server
    assert texts(lines) == TEXTS[:2]
    (line,) = read_logs(api, "ml", RUN, LogChoice(role="finisher", tail=1), PODS)  # type: ignore[arg-type]
    assert (line.task, line.container, line.line.text) == ("finisher-0", "finisher", "no time here")
    assert api.queries[-1] == {"container": "finisher", "timestamps": "true", "tailLines": "1"}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (LogChoice(), ["chief-0", "ps-0", "ps-1", "worker-0", "worker-1", "worker-2"]),
        (LogChoice(index=1), ["ps-1", "worker-1"]),
        (LogChoice(role="ps", index=0), ["ps-0"]),
        (LogChoice(all_containers=True, index=0), ["chief-0", "finisher-0", "ps-0", "worker-0"]),
    ],
)
def test_a_choice_takes_the_pods_of_its_tasks(choice: LogChoice, expected: list[str]) -> None:
    """The recorded pod of worker-3 has no started container."""
    api = RecordedApi()
    api.log_of_pods = {pod["metadata"]["name"]: A.decode() for pod in OBJECTS["pods"]}
    assert [line.task for line in read_logs(api, "ml", RUN, choice, PODS)] == expected  # type: ignore[arg-type]


def test_the_logs_of_a_deleted_run_end() -> None:
    """A deleted namespace has neither Jobs nor pods."""
    api = RecordedApi(Stream(A, B), states=[(0, RUNNING)])
    api.is_deleted_at_look = 2
    lines, follower = follow(api)
    assert texts(lines) == TEXTS[:2]
    assert (follower.end, follower.is_deleted) == (None, True)

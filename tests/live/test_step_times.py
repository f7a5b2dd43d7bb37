"""Tests of step times from trace files of TensorFlow 2.21: two workers of MultiWorkerMirroredStrategy, traced for 2 s.

Worker 1 sleeps 200 ms before each call of its tf.function; worker 0 waits for worker 1 in a collective operation.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tfgen.errors import TfgenError
from tfgen.live.step_times import step_times
from tfgen.live.xplane import read_events

TRACES = Path(__file__).parent / "traces"
SLEEP_MS, SECONDS = 200.0, 2.0


def trace(task: str) -> bytes:
    return (TRACES / f"{task}.xplane.pb").read_bytes()


def test_the_own_time_shows_the_worker_for_which_the_peer_waits() -> None:
    waiting, sleeping = step_times(trace("worker-0")), step_times(trace("worker-1"))
    assert waiting
    assert sleeping
    for times in (waiting, sleeping):
        assert SLEEP_MS < times.step_ms < SLEEP_MS * 1.2
        assert times.steps * times.step_ms < SECONDS * 1000
    assert sleeping.active_ms > SLEEP_MS
    assert waiting.active_ms < SLEEP_MS / 10


def test_the_events_have_the_times_of_the_profiler() -> None:
    events = list(read_events(trace("worker-1"), ("EagerLocalExecute",)))
    assert {event.name for event in events} == {"EagerLocalExecute: __inference_step_59"}
    # protoc --decode of xplane.proto: 9 events with 94.7 ms in all
    assert len(events) == 9
    assert sum(event.end - event.start for event in events) / 1e6 == pytest.approx(94.7, abs=0.05)


def test_a_trace_without_steps_has_no_times() -> None:
    assert step_times(b"") is None


@pytest.mark.parametrize("data", [b"\x0a\xff\x01", b"\x0a\x02\x0a", b"\x08\x80", b"<html>", b"\x08\x01"])
def test_a_file_of_another_format_is_an_error(data: bytes) -> None:
    with pytest.raises(TfgenError, match="the trace file cannot be read"):
        step_times(data)

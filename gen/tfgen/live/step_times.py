"""The step times of a task, from the trace file of the task.

A step is one call of a tf.function. tfgen looks only at the tf.function that takes the most time in the trace.

Workers of MultiWorkerMirroredStrategy wait for each other in collective operations, so all workers have the same step
time. The active time of a step excludes these operations. So the slowest worker, for which the other workers wait, has
the longest active time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from tfgen.live.xplane import TraceEvent, read_events
from tfgen.record import Record

_CALL: Final = "EagerLocalExecute: __inference_"
"""Prefix of the event names for calls of a tf.function, in the caller's process or in a worker."""
_COLLECTIVE: Final = ":Collective"
"""Text in the event names of collective operations, such as NAME:CollectiveReduceV2."""
_NS_PER_MS: Final = 1e6


class StepTimes(Record):
    """The step times of a task.

    Attributes:
        steps: number of complete steps in the trace.
        step_ms: mean time from the start of a step to the start of the next step, in milliseconds.
        active_ms: mean time of a step without the collective operations, in milliseconds.
    """

    steps: int
    step_ms: float
    active_ms: float


def step_times(data: bytes) -> StepTimes | None:
    """Return the step times in a trace file; None for a trace with fewer than two steps.

    Raises:
        TfgenError: the data is not a trace file.
    """
    calls: dict[str, list[TraceEvent]] = defaultdict(list)
    collectives = []
    for event in read_events(data, (_CALL, _COLLECTIVE)):
        if event.name.startswith(_CALL):
            calls[event.name].append(event)
        else:
            collectives.append(event)
    if not calls:
        return None
    longest = max(calls.values(), key=lambda events: sum(event.end - event.start for event in events))
    starts = sorted(event.start for event in longest)
    steps = len(starts) - 1
    if steps < 1:
        return None
    span = starts[-1] - starts[0]
    active = span - _covered(collectives, starts[0], starts[-1])
    return StepTimes(steps, span / steps / _NS_PER_MS, active / steps / _NS_PER_MS)


def _covered(events: Iterable[TraceEvent], start: float, end: float) -> float:
    """Return the total time between `start` and `end` in which at least one of the events runs."""
    total, last = 0.0, start
    for event in sorted(events, key=lambda event: event.start):
        begin, finish = max(event.start, last), min(event.end, end)
        if finish > begin:
            total += finish - begin
            last = finish
    return total

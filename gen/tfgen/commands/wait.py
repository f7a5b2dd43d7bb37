"""``tfgen wait``: read the state of a run every two seconds until the run ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from tfgen.commands.cluster.live_runs import Clusters
from tfgen.commands.status import SECONDS, follow_states
from tfgen.errors import TfgenError
from tfgen.live.run import DeclaredRun
from tfgen.live.run_state import RunState
from tfgen.words import either

_RELEASE_SECONDS: Final = 60.0
"""Maximum time in seconds between two nodes that the finisher frees. After this time, the finisher counts as stuck."""


def follow_run(clusters: Clusters, run: DeclaredRun, timeout: int | None, deadline: float | None) -> Iterator[RunState]:
    """Yield the state of a run repeatedly, until the run has ended and its finisher has released the run.

    If the run has ended and the finisher does not free the nodes, `is_stuck` is true in the last state. The iteration
    also ends when the run is deleted from the cluster.

    Args:
        clusters: the clusters of the run.
        run: the run.
        timeout: the maximum number of seconds to wait, for the error message; None for no limit.
        deadline: the value of `time.monotonic` at the end of the timeout; None for no limit.

    Raises:
        TfgenError: the run has not ended before the deadline, or the cluster cannot be read.
    """
    on_nodes, progress = -1, 0.0
    for (state,) in follow_states(clusters, [run], with_logs=True):
        if state.is_releasing:
            if state.tasks_on_nodes != on_nodes:
                on_nodes, progress = state.tasks_on_nodes, time.monotonic()
            if state.finisher in ("Absent", "Failed") or time.monotonic() - progress > _RELEASE_SECONDS:
                yield state.replaced(is_stuck=True)
                return
        yield state
        if (state.end and not state.is_releasing) or state.is_deleted:
            return
        if deadline is not None and time.monotonic() + SECONDS > deadline:
            phase = f"still {state.phase}"
            if state.is_releasing:
                phase = f"{state.phase}, but the finisher has not released {either(state.unreleased, 'and')}"
            raise TfgenError(f"{run.title}: {phase} after {timeout} s")

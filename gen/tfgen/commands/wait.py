"""``tfgen wait``: how a run is, look after look, until it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from tfgen.commands.cluster.live_runs import Clusters
from tfgen.commands.status import read_states
from tfgen.errors import TfgenError
from tfgen.live.declared_run import DeclaredRun
from tfgen.live.run_state import RunState
from tfgen.words import either

_SECONDS: Final = 2.0
"""Between two looks."""
_RELEASE_SECONDS: Final = 60.0
"""The time in which a finisher that works frees at least one more node."""


def follow_run(clusters: Clusters, run: DeclaredRun, timeout: int | None, deadline: float | None) -> Iterator[RunState]:
    """Yield the state of a run at each look, until the run has ended and its finisher has released the run.

    The last state has `is_stuck` where the run succeeded and the finisher frees no node. A run that was in the cluster
    and is deleted ends the looks, too.

    Args:
        clusters: where it is.
        run: the run.
        timeout: the seconds that the user has for it; None for ever.
        deadline: when these are over, as `time.monotonic` counts.

    Raises:
        TfgenError: it has not ended by then, or the cluster cannot be read.
    """
    was_there = False
    on_nodes, progress = -1, 0.0
    while True:
        (state,) = read_states(clusters, [run], with_logs=True)
        if state.is_releasing:
            if state.tasks_on_nodes != on_nodes:
                on_nodes, progress = state.tasks_on_nodes, time.monotonic()
            if state.finisher in ("Absent", "Failed") or time.monotonic() - progress > _RELEASE_SECONDS:
                yield state.replaced(is_stuck=True)
                return
        yield state
        if (state.end and not state.is_releasing) or (was_there and state.phase == "Absent"):
            return
        was_there = was_there or state.phase != "Absent"
        if deadline is not None and time.monotonic() + _SECONDS > deadline:
            phase = f"still {state.phase}"
            if state.is_releasing:
                phase = f"{state.phase}, but the finisher has not released {either(state.unreleased, 'and')}"
            raise TfgenError(f"{run.title}: {phase} after {timeout} s")
        time.sleep(_SECONDS)

"""``tfgen wait``: how a run is, look after look, until it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from tfgen.commands.cluster.live_runs import Clusters
from tfgen.commands.status import read_states
from tfgen.errors import TfgenError
from tfgen.live.run_state import RunState
from tfgen.live.wanted_run import WantedRun

_SECONDS: Final = 2.0
"""Between two looks."""


def follow_run(clusters: Clusters, run: WantedRun, timeout: int | None, deadline: float | None) -> Iterator[RunState]:
    """How a run is at each look. The last one is that of its end, or of its absence where it was there before.

    Args:
        clusters: where it is.
        run: the run.
        timeout: the seconds that the user has for it; None for ever.
        deadline: when these are over, as `time.monotonic` counts.

    Raises:
        TfgenError: it has not ended by then, or the cluster cannot be read.
    """
    was_there = False
    while True:
        (state,) = read_states(clusters, [run], with_logs=True)
        yield state
        if state.end or (was_there and state.phase == "Absent"):
            return
        was_there = was_there or state.phase != "Absent"
        if deadline is not None and time.monotonic() + _SECONDS > deadline:
            raise TfgenError(f"{run.title}: still {state.phase} after {timeout} s")
        time.sleep(_SECONDS)

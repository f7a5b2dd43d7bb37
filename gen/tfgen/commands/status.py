"""``tfgen status``: read the states of runs from their clusters."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from tfgen.commands.cluster.live_runs import Clusters
from tfgen.live.declared_run import DeclaredRun
from tfgen.live.deletion import Deletion
from tfgen.live.read_snapshot import read_snapshot
from tfgen.live.run_state import RunState, state_of_run
from tfgen.live.snapshot import Snapshot

SECONDS: Final = 2.0
"""Time between two requests in seconds."""


def read_states(clusters: Clusters, runs: Sequence[DeclaredRun], *, with_logs: bool = False) -> list[RunState]:
    """Return the current states of runs, in the order of the runs.

    Args:
        clusters: the clusters of the runs.
        runs: the runs.
        with_logs: whether to read the last lines of some logs, for example to find the error of a failed task.

    Raises:
        UsageError: a job names a cluster that is not in the kubeconfig.
        ApiError: the user may not list the objects of a run.
        TfgenError: the server does not answer in time.
    """
    states: dict[str, RunState] = {}
    for api, namespace, of_namespace in clusters.by_namespace(runs):
        snapshot = read_snapshot(api, namespace, of_namespace, with_logs=with_logs)
        enabled = {(run.full_name, run.run) for run in of_namespace if run.is_enabled}
        for run in of_namespace:
            live_runs = () if clusters.is_place_set else run.live_runs.values()
            is_hidden = not run.is_enabled and ((run.full_name, run.run) in enabled or run.run in live_runs)
            # A retired and an enabled environment may have the same object names. Then the objects belong to the
            # enabled environment.
            states[run.title] = state_of_run(run, Snapshot() if is_hidden else snapshot, namespace)
    return [states[run.title] for run in runs]


def follow_states(
    clusters: Clusters, runs: Sequence[DeclaredRun], *, with_logs: bool = False
) -> Iterator[list[RunState]]:
    """Yield the states of runs every two seconds, without an end. The arguments and the errors are as in `read_states`.

    The state of a run that was deleted before its end has the field `is_deleted`.
    """
    deletions: dict[str, Deletion] = defaultdict(Deletion)
    while True:
        yield [
            state.replaced(
                is_deleted=deletions[state.run.title].is_deleted(
                    has_deciding_object=not state.is_missing, has_tasks=state.phase != "Absent"
                )
            )
            for state in read_states(clusters, runs, with_logs=with_logs)
        ]
        time.sleep(SECONDS)

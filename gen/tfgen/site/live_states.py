"""Reads the states of runs from the clusters, for the site. If a cluster does not answer, the site shows a note."""

from __future__ import annotations

from collections.abc import Sequence

from tfgen.errors import TfgenError
from tfgen.live.api import ApiError
from tfgen.live.clusters import Clusters, read_states
from tfgen.live.run import DeclaredRun
from tfgen.live.run_state import RunState
from tfgen.site.read_jobs import JobFacts, LiveState


def with_live_states(
    clusters: Clusters, jobs: Sequence[JobFacts], runs: Sequence[DeclaredRun]
) -> tuple[list[JobFacts], tuple[str, ...]]:
    """Return the facts about the jobs, with the state of the run of each environment, and messages for the user.

    The messages are about the states that tfgen could not read. After a failed connection, tfgen reads no other
    namespace of the same cluster.

    Args:
        clusters: the clusters of the runs.
        jobs: the facts about the jobs, without states.
        runs: the runs of the jobs in their environments.
    """
    states: dict[tuple[str, str], LiveState] = {}
    notes: list[str] = []
    places: dict[tuple[str | None, str], list[DeclaredRun]] = {}
    for run in runs:
        try:
            live = clusters.place(run)
        except TfgenError as error:
            notes.append(str(error))
        else:
            places.setdefault((live.context, live.namespace), []).append(run)
    lost: set[str | None] = set()
    for (context, namespace), group in places.items():
        if context in lost:
            continue
        try:
            of_group = read_states(clusters, group)
        except TfgenError as error:
            notes.append(f"{context or 'current context'}, namespace {namespace}: {error}")
            if not isinstance(error, ApiError):
                lost.add(context)
        else:
            states |= {(state.run.job, state.run.environment or ""): _live_state(state) for state in of_group}
    with_states = [
        job.replaced(
            environments=tuple(
                environment.replaced(state=states.get((job.name, environment.name))) for environment in job.environments
            )
        )
        for job in jobs
    ]
    return with_states, tuple(dict.fromkeys(notes))


def _live_state(state: RunState) -> LiveState:
    ready, requested = sum(role.ready for role in state.roles), sum(role.requested for role in state.roles)
    is_absent = state.phase in ("Absent", "Disabled")
    reason = str(state.causes[0]) if state.causes else ""
    return LiveState(state.phase, "" if is_absent else f"{ready}/{requested}", reason)

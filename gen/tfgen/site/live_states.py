"""Reads the states of runs from the clusters, for the site. If a cluster does not answer, the site shows a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfgen.errors import TfgenError
from tfgen.live.api import ApiError
from tfgen.live.clusters import Clusters, LiveRun, read_states
from tfgen.live.run import DeclaredRun
from tfgen.live.run_state import RunState
from tfgen.record import Record
from tfgen.site.read_jobs import JobFacts, LiveState


class LiveStates(Record):
    """The states of runs, and messages about the states that tfgen could not read.

    Attributes:
        states: state of each run, by title of the run. Example of a title: "mnist/prod".
    """

    states: Mapping[str, LiveState]
    notes: tuple[str, ...]


def read_live_states(clusters: Clusters, runs: Sequence[DeclaredRun]) -> LiveStates:
    """Read the states of runs. After a failed connection, tfgen reads no other namespace of the same cluster."""
    states: dict[str, LiveState] = {}
    notes: list[str] = []
    places: dict[tuple[str | None, str], list[LiveRun]] = {}
    for run in runs:
        try:
            live = clusters.place(run)
        except TfgenError as error:
            notes.append(str(error))
        else:
            places.setdefault((live.context, live.namespace), []).append(live)
    lost: set[str | None] = set()
    for (context, namespace), group in places.items():
        if context in lost:
            continue
        try:
            of_group = read_states(clusters, [live.run for live in group])
        except TfgenError as error:
            notes.append(f"{context or 'current context'}, namespace {namespace}: {error}")
            if not isinstance(error, ApiError):
                lost.add(context)
        else:
            states |= {state.run.title: _live_state(state) for state in of_group}
    return LiveStates(states, tuple(dict.fromkeys(notes)))


def with_states(
    jobs: Sequence[JobFacts], states: Mapping[str, LiveState], runs: Sequence[DeclaredRun]
) -> list[JobFacts]:
    """Return the facts about the jobs, with the state of the run of each environment.

    Args:
        jobs: the facts about the jobs, without states.
        states: state of each run, by title of the run.
        runs: the runs, each with its job, environment and title.
    """
    titles = {(run.job, run.environment or ""): run.title for run in runs}
    return [
        job.replaced(
            environments=tuple(
                environment.replaced(state=states.get(titles.get((job.name, environment.name), "")))
                for environment in job.environments
            )
        )
        for job in jobs
    ]


def _live_state(state: RunState) -> LiveState:
    ready, requested = sum(role.ready for role in state.roles), sum(role.requested for role in state.roles)
    is_absent = state.phase in ("Absent", "Disabled")
    reason = str(state.causes[0]) if state.causes else ""
    return LiveState(state.phase, "" if is_absent else f"{ready}/{requested}", reason)

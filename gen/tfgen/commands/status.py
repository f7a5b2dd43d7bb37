"""``tfgen status``: read the states of runs from their clusters."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from tfgen.commands.cluster.live_runs import Clusters
from tfgen.commands.pipeline.job_files import find_job_files
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.live.read_cluster import read_pods, read_snapshot
from tfgen.live.run import DeclaredRun, Deletion, Snapshot
from tfgen.live.run_state import RunState, state_of_run
from tfgen.live.tasks import ENDED, gpus_of
from tfgen.record import Record

SECONDS: Final = 2.0
"""Time between two requests in seconds."""


class UndeclaredRun(Record):
    """A run that has pods in a cluster, and whose job is in no job file of the repository.

    Attributes:
        title: the full name of the run, and the name of the run if it has one.
        job: the name of the job.
        namespace: the namespace of the pods.
        pods: the number of pods that have not ended.
        gpus: the number of GPUs that these pods use.
    """

    title: str
    job: str
    namespace: str
    pods: int
    gpus: int


def find_undeclared_runs(
    clusters: Clusters, places: Sequence[DeclaredRun], jobs: Collection[str], out: Path
) -> list[UndeclaredRun]:
    """Find the runs whose job file is gone, by the labels of their pods.

    Args:
        clusters: the clusters of the runs.
        places: runs in the namespaces to search.
        jobs: the names of jobs with a job file.
        out: the output folder of the repository, whose job files tfgen reads for all other jobs.

    Raises:
        UsageError: a job names a cluster that is not in the kubeconfig.
        ApiError: the user may not list the pods of a namespace.
        TfgenError: the server does not answer in time.
    """
    found: dict[tuple[str, str, str], list[Object]] = defaultdict(list)
    for api, namespace, _ in clusters.by_namespace(places):
        for pod in read_pods(api, namespace, {keys.JOB: None}):
            labels = pod["metadata"]["labels"]
            title = "/".join(filter(None, (labels[keys.JOB], labels.get(keys.RUN))))
            if pod["status"].get("phase") not in ENDED:
                found[labels.get(keys.NAME, labels[keys.JOB]), title, namespace].append(pod)
    gone = {job for job in {job for job, _, _ in found} - {*jobs} if not find_job_files(job, out)}
    return [
        UndeclaredRun(title, job, namespace, len(pods), sum(map(gpus_of, pods)))
        for (job, title, namespace), pods in sorted(found.items())
        if job in gone
    ]


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

"""Connect to the clusters of runs, and read the states of the runs there."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tfgen.errors import TfgenError, UsageError
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.live.api import Api, ApiError, Patience
from tfgen.live.connection import Access, Connection, context_names
from tfgen.live.read_cluster import read_pods, read_snapshot
from tfgen.live.run import DeclaredRun, Deletion, Snapshot
from tfgen.live.run_state import RunState, state_of_run
from tfgen.live.tasks import ENDED, gpus_of
from tfgen.pipeline.read import find_job_files
from tfgen.record import Record
from tfgen.words import either


class RunPlace(Record):
    """The cluster and the namespace that contain the objects of a run.

    Attributes:
        context: the context of the kubeconfig; None for the current context.
    """

    context: str | None
    namespace: str


class Clusters:
    """Connections to the clusters of the runs. Runs in the same cluster share a connection."""

    def __init__(self, access: Access, patience: Patience, print_message: Callable[[str], None]) -> None:
        """Store the connection options of the command line.

        Args:
            access: the kubeconfig, the context and the namespace of the command line.
            patience: the time limits of a request.
            print_message: function that prints a message about a server that does not answer.
        """
        self._access, self._patience, self._print_message = access, patience, print_message
        self._apis: dict[str | None, Api] = {}

    @property
    def is_place_set(self) -> bool:
        """Return whether the option --context or --namespace is on the command line."""
        return self._access.context is not None or self._access.namespace is not None

    def api(self, context: str | None) -> Api:
        """Return the API client for a kubeconfig context.

        Raises:
            TfgenError: the kubeconfig has no access to the API server.
        """
        if context not in self._apis:
            connection = Connection(self._access.replaced(context=context))
            self._apis[context] = Api(connection, self._patience, self._print_message)
        return self._apis[context]

    def place(self, run: DeclaredRun) -> RunPlace:
        """Find the cluster and namespace of a run.

        An option of the command line has priority over job.yaml, and job.yaml has priority over the kubeconfig.

        Raises:
            UsageError: the job names a cluster, and the kubeconfig has no context with this name.
            TfgenError: the kubeconfig has no access to the cluster.
        """
        context = self._access.context
        if context is None and run.cluster is not None:
            names = context_names(self._access)
            if run.cluster not in names:
                contexts = f"; its contexts are {either(names, 'and')}" if names else ""
                raise UsageError(
                    f"{run.title}: the job runs in the cluster {run.cluster}, and the kubeconfig has no context with "
                    f"this name{contexts}; add --context NAME"
                )
            context = run.cluster
        return RunPlace(context, self._access.namespace or run.namespace or self.api(context).connection.namespace)

    def access(self, place: RunPlace) -> Access:
        """Return the kubeconfig, and the context and the namespace of a run, for kubectl."""
        return self._access.replaced(context=place.context, namespace=place.namespace)

    def with_release_names(self, run: DeclaredRun, release: str | None) -> DeclaredRun:
        """Return a copy of the run with the names that its objects have in the cluster.

        The names of the objects begin with the name of the Helm release, unless the values set `fullnameOverride`.
        After `helm install mnist-b charts/mnist`, for example, the names begin with `mnist-b`. To find the release,
        tfgen lists the pods of the job. These pods have the label `app.kubernetes.io/name: mnist` with the name of the
        job, and the label `tfgen/job: mnist-b` with the beginning of the object names. If the two names differ, tfgen
        prints the name of the release.

        Args:
            run: the run, with object names that begin with the name of the job.
            release: the name of the Helm release; None to use the release with the name of the job or, if this release
                has no pods, the only release with pods of the job.

        Raises:
            UsageError: the release has no pods, or several releases have pods and none has the name of the job.
            ApiError: the user may not list pods, and `release` is set. If `release` is None, the method returns the
                unchanged run.
            TfgenError: the server does not answer in time.
        """
        live = self.place(run)
        try:
            pods = read_pods(self.api(live.context), live.namespace, {keys.NAME: run.job, keys.RUN: run.run})
        except ApiError as error:
            if release is None and error.is_forbidden:  # then assume the release with the name of the job
                return run
            raise
        labels = [pod["metadata"]["labels"] for pod in pods if keys.JOB in pod["metadata"]["labels"]]
        releases = dict(sorted({of_pod[keys.JOB]: of_pod.get(keys.INSTANCE, "") for of_pod in labels}.items()))
        if release is None and (run.full_name in releases or not releases):
            return run
        names = [name for name, instance in releases.items() if release in (None, name, instance)]
        if len(names) != 1:
            existing = f"; the releases with pods are {either(releases, 'and')}" if releases else ""
            fix = "add --release NAME" if release is None else f"the Helm release {release} has no pod{existing}"
            several = f"the job has the Helm releases {either(names, 'and')}; " if names else ""
            raise UsageError(f"{run.title}: {several}{fix}")
        (name,) = names
        if name != run.full_name:
            text = f"the run is in the Helm release {releases[name]}, and its object names begin with {name}"
            self._print_message(f"{run.title}: {text}")
        return run.with_full_name(name)

    def by_namespace(self, runs: Iterable[DeclaredRun]) -> Iterator[tuple[Api, str, list[DeclaredRun]]]:
        """Group runs by cluster and namespace. Yield the API client, the namespace and the runs of each group."""
        groups: dict[tuple[str | None, str], list[DeclaredRun]] = {}
        for run in runs:
            live = self.place(run)
            groups.setdefault((live.context, live.namespace), []).append(run)
        for (context, namespace), group in groups.items():
            yield self.api(context), namespace, group


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

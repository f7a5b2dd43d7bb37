"""Connect to the clusters of runs, and read the objects and the states of the runs there."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final

from tfgen.errors import TfgenError, UsageError
from tfgen.graph.helper_pods import TENSORBOARD
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, creation_time, identity
from tfgen.live.api import NOT_FOUND, Api, ApiError, Patience
from tfgen.live.connection import Access, Connection, context_names
from tfgen.live.run import DeclaredRun, Deletion, Identity, Snapshot, end_of_run, event_time
from tfgen.live.run_state import RunState, leading_pod, query_parameters, queue_of, state_of_run, workload_kind
from tfgen.live.tasks import (
    ENDED,
    doubtful_nodes,
    failed_pods,
    gpus_of,
    index_of,
    is_running,
    main_container,
    role_of,
    task_state,
)
from tfgen.pipeline.read import find_job_files
from tfgen.record import Record
from tfgen.scheduling.cluster import KINDS
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


# -- reads of the objects of runs, and of a whole cluster --------------------------------------------------------------


_POD: Final = ("v1", "Pod")


def read_snapshot(api: Api, namespace: str, runs: Sequence[DeclaredRun], *, with_logs: bool = False) -> Snapshot:
    """Return the objects of runs in a namespace.

    Args:
        api: client of the cluster.
        namespace: namespace of the runs.
        runs: runs to read.
        with_logs: whether to read the last lines of three kinds of logs: of the task that leads the training, of failed
            tasks, and of the finisher after the run has ended.

    Raises:
        ApiError: the account may not list the pods, or the kinds of the objects that decide when the runs end.
        TfgenError: the server does not answer in time. Or the server has pods of a run, but does not serve the kind of
            the object that decides when the run ends.
    """
    names = ",".join(sorted({run.job for run in runs}))
    reader = _Reader(api, namespace)
    full_names = ",".join(sorted({run.full_name for run in runs}))
    pods = reader.objects(_POD, {"labelSelector": f"{keys.JOB} in ({full_names})"})
    needed = {run.deciding_object[:2] for run in runs if run.deciding_object}
    _check_kinds(api, runs, Snapshot(tuple(pods)))
    objects: dict[Identity, Object] = {}
    identities = {item for run in runs for item in run.identities}
    for kind in sorted({item[:2] for item in identities}):
        query = {"labelSelector": f"{keys.NAME} in ({names})"}
        listed = reader.objects(kind, query) if kind in needed else reader.objects_if_allowed(kind, query)
        objects |= {identity(live): live for live in listed if identity(live) in identities}
    objects |= _delivery_objects(reader, runs)
    warnings = reader.objects_if_allowed(("v1", "Event"), {"fieldSelector": "type=Warning"})
    snapshot = Snapshot(tuple(pods), objects, tuple(sorted(warnings, key=event_time)))
    leads = filter(None, (snapshot.find(run.deciding_object) for run in runs))
    queued = [*filter(queue_of, leads)]
    workloads = reader.objects_if_allowed(workload_kind(api), query_parameters(queued)) if queued else []
    pending = {queue: reader.pending(queue) for queue in sorted(set(map(queue_of, queued)))} if workloads else {}
    logged = [pod for run in runs if with_logs for pod in _logged_pods(run, snapshot)]
    containers = {pod["metadata"]["name"]: main_container(pod) for pod in logged}
    return snapshot.replaced(
        workloads=tuple(workloads),
        pending={queue: names for queue, names in pending.items() if names},
        logs={pod: reader.log(pod, container) for pod, container in containers.items()},
        nodes=reader.nodes_if_allowed(doubtful_nodes(pods)),
        unreadable=tuple(reader.unreadable),
    )


def read_progress(api: Api, namespace: str, run: DeclaredRun) -> Snapshot:
    """Return only the objects that show the progress of a run.

    These objects are the pods, the object that decides when the run ends, and the finisher.

    Raises:
        ApiError: the account may not list the objects.
        TfgenError: the server does not answer in time.
    """
    pods = run_pods(api, namespace, run)
    listed: list[Object] = []
    if run.deciding_object:
        query = {"labelSelector": f"{keys.NAME}={run.job}"}
        listed = _Reader(api, namespace).objects(run.deciding_object[:2], query)
    wanted = (run.deciding_object, run.finisher)
    return Snapshot(tuple(pods), {identity(live): live for live in listed if identity(live) in wanted})


def read_pods(api: Api, namespace: str, labels: Mapping[str, str | None]) -> list[Object]:
    """Return the pods of a namespace that have the given labels. The value None stands for any value.

    Raises:
        ApiError: the account may not list pods.
        TfgenError: the server does not answer in time.
    """
    selector = ",".join(key if value is None else f"{key}={value}" for key, value in labels.items())
    return _Reader(api, namespace).objects(_POD, {"labelSelector": selector})


def _delivery_objects(reader: _Reader, runs: Sequence[DeclaredRun]) -> dict[Identity, Object]:
    """Return the objects of GitOps tools that deliver the jobs. A missing object is unreadable."""
    names: dict[tuple[str, str, str], set[str]] = {}
    for run in runs:
        for namespace, (version, kind, name) in run.deliveries:
            names.setdefault((namespace, version, kind), set()).add(name)
    objects: dict[Identity, Object] = {}
    for (namespace, version, kind), wanted in sorted(names.items()):
        if not namespace:
            reader.unreadable += [f"{kind} {name}: Argo CD runs in another cluster" for name in sorted(wanted)]
            continue
        query = {"fieldSelector": f"metadata.name={min(wanted)}"} if len(wanted) == 1 else {}
        known = len(reader.unreadable)
        listed = {
            live["metadata"]["name"]: live for live in reader.objects_if_allowed((version, kind), query, namespace)
        }
        objects |= {(version, kind, name): live for name, live in listed.items() if name in wanted}
        if known == len(reader.unreadable):
            missing = sorted(wanted - listed.keys())
            reader.unreadable += [f"{kind} {name}: the namespace {namespace} has no such object" for name in missing]
    return objects


def _check_kinds(api: Api, runs: Iterable[DeclaredRun], snapshot: Snapshot) -> None:
    """Check that the server serves the kind of the object that decides when each run ends.

    A run without pods does not count.
    """
    for run in runs:
        if run.deciding_object and snapshot.pods_of(run) and api.resource(*run.deciding_object[:2]) is None:
            version, kind, _ = run.deciding_object
            raise TfgenError(
                f"{run.title}: the server has pods of the run, but no kind {kind} of {version}; check the address of "
                "the server"
            )


def _logged_pods(run: DeclaredRun, snapshot: Snapshot) -> Iterator[Object]:
    """Yield the pods whose logs tfgen reads: the leading task, failed tasks, and the finisher of an ended run.

    tfgen reads the logs of the three earliest failures, because they show the cause.
    """
    finisher = snapshot.finisher_pod(run) if end_of_run(run, snapshot) else None
    yield from filter(None, (leading_pod(run, snapshot), *failed_pods(run, snapshot)[:3], finisher))


class _Reader:
    """Reader of the objects in a namespace. The reader also stores the reasons why objects cannot be read.

    Attributes:
        unreadable: messages about the kinds and the logs that tfgen could not read. Each message contains the reason.
    """

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self.unreadable: list[str] = []

    def objects(self, kind: tuple[str, str], query: Mapping[str, str], namespace: str = "") -> list[Object]:
        """Return the objects of a kind. The list is empty if the cluster does not serve the kind.

        Add `apiVersion` and `kind` to each object, because the items of a list lack these fields.

        Args:
            kind: the API version and the kind, such as ("apps/v1", "StatefulSet").
            query: the query of the list request.
            namespace: the namespace of the objects; empty for the namespace of the reader.
        """
        resource = self._api.resource(*kind)
        if resource is None:
            self.unreadable.append(f"{kind[1]} of {kind[0]}: the cluster has no such kind")
            return []
        items = self._api.objects(resource, namespace or self._namespace, query)
        return [{"apiVersion": kind[0], "kind": kind[1], **item} for item in items]

    def objects_if_allowed(self, kind: tuple[str, str], query: Mapping[str, str], namespace: str = "") -> list[Object]:
        """Return the objects of a kind. The list is empty if the account or the server cannot list the kind."""
        try:
            return self.objects(kind, query, namespace)
        except ApiError as error:
            if not error.is_unreadable:
                raise
            self.unreadable.append(f"{kind[1]}: {error}")
            return []

    def nodes_if_allowed(self, names: Iterable[str]) -> dict[str, Object]:
        """Return the existing nodes among `names`, by name; empty if the account may not read nodes."""
        resource = self._api.resource("v1", "Node")
        nodes: dict[str, Object] = {}
        if resource is None:
            return nodes
        for name in sorted(names):
            try:
                nodes[name] = self._api.data("GET", resource.at("", name))
            except ApiError as error:
                if not error.is_unreadable:
                    raise
                if error.is_forbidden:
                    self.unreadable.append(f"Node: {error}")
                    break
        return nodes

    def pending(self, queue: str) -> tuple[str, ...]:
        """Return the names of the pending Workloads of a queue of Kueue, in the order of the queue.

        The result is empty if the cluster does not serve the list, or if the account may not read the list.
        https://kueue.sigs.k8s.io/docs/tasks/manage/monitor_pending_workloads/pending_workloads_on_demand/
        """
        path = f"/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/{self._namespace}/localqueues/{queue}"
        try:
            summary = self._api.data("GET", f"{path}/pendingworkloads")
        except ApiError:
            return ()
        items = sorted(summary.get("items") or (), key=lambda item: item.get("positionInLocalQueue", 0))
        return tuple(item["metadata"]["name"] for item in items)

    def log(self, pod: str, container: str) -> str:
        """Return the last lines of a container's log; empty if the container has not started."""
        resource = self._api.resource(*_POD)
        if resource is None:
            return ""
        try:
            query = {"container": container, "tailLines": "200"}
            return self._api.text(resource.at(self._namespace, pod, "log"), query)
        except TfgenError as error:
            # The container of the pod has not started, or the pod was deleted.
            has_no_log = isinstance(error, ApiError) and error.status in (HTTPStatus.BAD_REQUEST, NOT_FOUND)
            if not has_no_log:
                self.unreadable.append(f"log of {pod}: {error}")
            return ""


def run_pods(api: Api, namespace: str, run: DeclaredRun) -> list[Object]:
    """Return the pods of a run.

    Raises:
        ApiError: the account may not list pods.
        TfgenError: the server does not answer in time.
    """
    return read_pods(api, namespace, {keys.JOB: run.full_name, keys.RUN: run.run})


def task_pod(pods: Sequence[Object], namespace: str, run: DeclaredRun, role: str, index: int) -> Object:
    """Return the running pod of a task. If the task has several running pods, return the newest.

    Args:
        pods: the pods of the run.
        namespace: the namespace of the pods.
        run: the run.
        role: the role of the task.
        index: the index of the task in its role.

    Raises:
        TfgenError: the task has no running pod. The message lists the run's tasks, or has the reason why the task does
            not run.
    """
    task_pods = [pod for pod in pods if (role_of(pod), index_of(pod)) == (role, index)]
    if not task_pods:
        live_tasks = sorted({(role_of(pod), index_of(pod)) for pod in pods if role_of(pod) in run.roles})
        tasks = either([f"{name}-{number}" for name, number in live_tasks], "and") if live_tasks else "no task"
        raise TfgenError(f"{run.title}: {role}-{index} has no pod in the namespace {namespace}; the run has {tasks}")
    running = [pod for pod in task_pods if is_running(pod)]
    if not running:
        raise TfgenError(f"{run.title}: {role}-{index} does not run: {_state(task_pods)}")
    return max(running, key=creation_time)


def tensorboard_pod(api: Api, namespace: str, run: DeclaredRun) -> Object:
    """Return the newest ready pod of a job's TensorBoard.

    Raises:
        ApiError: the account may not list pods.
        TfgenError: no pod of TensorBoard is ready; the message has the reason.
    """
    pods = read_pods(api, namespace, {keys.JOB: run.full_name, keys.ROLE: TENSORBOARD})
    if not pods:
        reason = "the Deployment does not exist, or the end of the run has scaled the Deployment to 0"
        raise TfgenError(f"{run.title}: TensorBoard has no pod in the namespace {namespace}: {reason}")
    ready = [pod for pod in pods if task_state(pod).is_ready]
    if not ready:
        raise TfgenError(f"{run.title}: TensorBoard is not ready: {_state(pods)}")
    return max(ready, key=creation_time)


def _state(pods: Sequence[Object]) -> str:
    """Return a text about the newest pod in `pods`, such as "Pending: Unschedulable: 0/3 nodes are available"."""
    state = task_state(max(pods, key=creation_time))
    parts = [state.word, *((state.reason.word, state.reason.message) if state.reason else ())]
    return ": ".join(part for part in dict.fromkeys(parts) if part)


def read_cluster(api: Api, tell: Callable[[str], None]) -> tuple[list[Object], frozenset[str]]:
    """Return all nodes, all pods, and the objects that pods refer to, such as claims, and the kinds of these objects.

    The kinds do not include a kind that the account may not list.

    Args:
        api: client of the cluster.
        tell: receives a message for each kind that the account may not list.

    Raises:
        ApiError: the account may not list the nodes or the pods of all namespaces.
        TfgenError: the server does not answer in time.
    """
    objects: list[Object] = []
    kinds = set(KINDS)
    for kind, version in KINDS.items():
        resource = api.resource(version, kind)
        if resource is None:
            continue
        try:
            items = api.objects(resource.replaced(is_namespaced=False), "")
        except ApiError as error:
            if kind in ("Node", "Pod") or not error.is_unreadable:
                raise
            reason = "the account may not list the objects" if error.is_forbidden else f"the server answers {error}"
            kinds.remove(kind)
            tell(f"{resource.full_name}: tfgen ignores these objects, because {reason}")
            continue
        objects += ({**item, "apiVersion": version, "kind": kind} for item in items)
    return objects, frozenset(kinds)

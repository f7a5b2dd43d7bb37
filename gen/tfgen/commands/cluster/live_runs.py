"""Find the cluster and the namespace of each run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tfgen.errors import UsageError
from tfgen.kubernetes import keys
from tfgen.live.api import Api, ApiError, Patience
from tfgen.live.connection import Access, Connection, context_names
from tfgen.live.read_cluster import read_pods
from tfgen.live.run import DeclaredRun
from tfgen.record import Record
from tfgen.words import either


class LiveRun(Record):
    """A run, and the cluster and namespace that contain the objects of the run.

    Attributes:
        run: the run.
        context: the context of the kubeconfig; None for the current context.
        namespace: the namespace of the objects of the run.
    """

    run: DeclaredRun
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

    def place(self, run: DeclaredRun) -> LiveRun:
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
        return LiveRun(run, context, self._access.namespace or run.namespace or self.api(context).connection.namespace)

    def access(self, live: LiveRun) -> Access:
        """Return the kubeconfig, and the context and the namespace of a run, for kubectl."""
        return self._access.replaced(context=live.context, namespace=live.namespace)

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
        labels = [pod["metadata"]["labels"] for pod in pods]
        releases = {pod[keys.JOB]: pod.get(keys.INSTANCE, "") for pod in labels if keys.JOB in pod}
        releases = dict(sorted(releases.items()))
        if release is None and (run.full_name in releases or not releases):
            return run
        names = [name for name, instance in releases.items() if release in (None, name, instance)]
        if len(names) != 1:
            existing = f"; the releases with pods are {either(releases, 'and')}" if releases else ""
            fix = "add --release NAME" if release is None else f"the Helm release {release} has no pod{existing}"
            several = f"the job has the Helm releases {either(names, 'and')}; " if names else ""
            raise UsageError(f"{run.title}: {several}{fix}")
        if names[0] != run.full_name:
            self._print_message(
                f"{run.title}: the run is in the Helm release {releases[names[0]]}, and its object names begin with "
                f"{names[0]}"
            )
        return run.with_full_name(names[0])

    def by_namespace(self, runs: Iterable[DeclaredRun]) -> Iterator[tuple[Api, str, list[DeclaredRun]]]:
        """Group runs by cluster and namespace. Yield the API client, the namespace and the runs of each group."""
        groups: dict[tuple[str | None, str], list[DeclaredRun]] = {}
        for run in runs:
            live = self.place(run)
            groups.setdefault((live.context, live.namespace), []).append(run)
        for (context, namespace), group in groups.items():
            yield self.api(context), namespace, group

"""Where runs are: the clusters of all commands that look at one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tfgen.errors import UsageError
from tfgen.kubernetes import keys
from tfgen.live.api import Api, ApiError
from tfgen.live.connection import Access, Connection, context_names
from tfgen.live.declared_run import DeclaredRun
from tfgen.live.pauses import Patience
from tfgen.live.read_snapshot import read_pods
from tfgen.record import Record
from tfgen.words import either


class LiveRun(Record):
    """A run and where it is.

    Attributes:
        context: of the kubeconfig; None for its current one.
        namespace: where its objects are.
    """

    run: DeclaredRun
    context: str | None
    namespace: str


class Clusters:
    """The clusters of some runs, each asked by one connection."""

    def __init__(self, access: Access, patience: Patience, tell: Callable[[str], None]) -> None:
        """Args: `access` is what the user says; `tell` is told of a server that does not answer."""
        self._access, self._patience, self._tell = access, patience, tell
        self._apis: dict[str | None, Api] = {}

    @property
    def is_named(self) -> bool:
        """Test whether the user names the cluster or the namespace."""
        return self._access.context is not None or self._access.namespace is not None

    def api(self, context: str | None) -> Api:
        """The API server of a context.

        Raises:
            TfgenError: the kubeconfig does not lead to it.
        """
        if context not in self._apis:
            connection = Connection(self._access.replaced(context=context))
            self._apis[context] = Api(connection, self._patience, self._tell)
        return self._apis[context]

    def place(self, run: DeclaredRun) -> LiveRun:
        """Where a run is: as the user says, else as the job does, else as the kubeconfig's context does.

        Raises:
            UsageError: the job names a cluster, and no context has its name.
            TfgenError: the kubeconfig does not lead to it.
        """
        context = self._access.context
        if context is None and run.cluster is not None:
            names = context_names(self._access)
            if run.cluster not in names:
                known = f"; it has {either(names, 'and')}" if names else ""
                raise UsageError(
                    f"{run.title}: runs in the cluster {run.cluster}, and the kubeconfig has no context of that "
                    f"name{known}; name one by --context"
                )
            context = run.cluster
        return LiveRun(run, context, self._access.namespace or run.namespace or self.api(context).connection.namespace)

    def named(self, run: DeclaredRun, release: str | None) -> DeclaredRun:
        """The run by the name that it has there, which is told where it is not the job's.

        A Helm release of any name has the job's name in the label app.kubernetes.io/name of its pods, and the name that
        its objects begin with in tfgen/job.

        Args:
            run: by its job's name.
            release: the one that is asked for; None for that of the job's name, or else the only one.

        Raises:
            UsageError: there is no such release, or there are several of other names.
            ApiError: the account may not list pods, and a release is asked for.
            TfgenError: there is no answer in time.
        """
        live = self.place(run)
        try:
            pods = read_pods(self.api(live.context), live.namespace, {keys.NAME: run.job, keys.RUN: run.run})
        except ApiError as error:
            if release is None and error.is_forbidden:  # the job's own name needs no look
                return run
            raise
        labels = [pod["metadata"]["labels"] for pod in pods]
        releases = {own[keys.JOB]: own.get(keys.INSTANCE, "") for own in labels if keys.JOB in own}
        releases = dict(sorted(releases.items()))
        if release is None and (run.full_name in releases or not releases):
            return run
        names = [name for name, instance in releases.items() if release in (None, name, instance)]
        if len(names) != 1:
            known = f"; there is {either(releases, 'and')}" if releases else ""
            cure = "name one by --release" if release is None else f"no release {release} of it has a pod{known}"
            several = f"{either(names, 'and')} are releases of it; " if names else ""
            raise UsageError(f"{run.title}: {several}{cure}")
        if names[0] != run.full_name:
            self._tell(f"{run.title}: found as {names[0]}, of the Helm release {releases[names[0]]}")
        return run.called(names[0])

    def by_namespace(self, runs: Iterable[DeclaredRun]) -> Iterator[tuple[Api, str, list[DeclaredRun]]]:
        """The runs by where they are."""
        groups: dict[tuple[str | None, str], list[DeclaredRun]] = {}
        for run in runs:
            live = self.place(run)
            groups.setdefault((live.context, live.namespace), []).append(run)
        for (context, namespace), of_namespace in groups.items():
            yield self.api(context), namespace, of_namespace

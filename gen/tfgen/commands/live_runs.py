"""Where runs are: the clusters of all commands that look at one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tfgen.errors import UsageError
from tfgen.live.api import Api
from tfgen.live.connection import Access, Connection, context_names
from tfgen.live.pauses import Patience
from tfgen.live.wanted_run import WantedRun
from tfgen.record import Record
from tfgen.words import either


class LiveRun(Record):
    """A run and where it is.

    Attributes:
        context: of the kubeconfig; None for its current one.
        namespace: where its objects are.
    """

    run: WantedRun
    context: str | None
    namespace: str


class Clusters:
    """The clusters of some runs, each asked by one connection."""

    def __init__(self, access: Access, patience: Patience, tell: Callable[[str], None]) -> None:
        """Args: `access` is what the user says; `tell` is told of a server that does not answer."""
        self._access, self._patience, self._tell = access, patience, tell
        self._apis: dict[str | None, Api] = {}

    def api(self, context: str | None) -> Api:
        """The API server of a context.

        Raises:
            TfgenError: the kubeconfig does not lead to it.
        """
        if context not in self._apis:
            connection = Connection(self._access.replaced(context=context))
            self._apis[context] = Api(connection, self._patience, self._tell)
        return self._apis[context]

    def place(self, run: WantedRun) -> LiveRun:
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

    def by_namespace(self, runs: Iterable[WantedRun]) -> Iterator[tuple[Api, str, list[WantedRun]]]:
        """The runs by where they are."""
        groups: dict[tuple[str | None, str], list[WantedRun]] = {}
        for run in runs:
            live = self.place(run)
            groups.setdefault((live.context, live.namespace), []).append(run)
        for (context, namespace), of_namespace in groups.items():
            yield self.api(context), namespace, of_namespace

"""Connection to an API server. As in kubectl, the settings come from a kubeconfig, or from the pod's service account.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from logging.handlers import BufferingHandler
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import yaml

from tfgen.errors import MissingPackageError, TfgenError, UsageError
from tfgen.record import Record
from tfgen.words import either, meant, nearest

_UNREADABLE: Final = (yaml.YAMLError, OSError, ValueError, KeyError, TypeError, AttributeError)
"""Errors that the kubernetes client raises for an invalid kubeconfig, apart from its own ConfigException."""


class Access(Record):
    """The user's choice of a cluster. For an attribute that is None, tfgen uses the default of kubectl.

    Attributes:
        kubeconfig: paths of the kubeconfig files, in the syntax of the variable KUBECONFIG.
        context: context of the kubeconfig.
        namespace: namespace that replaces the namespace of the job and of the context.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None


class Connection:
    """An API server, and the account that sends the requests.

    Attributes:
        host: address of the server.
        pool: urllib3's pool of connections to the server.
        namespace: namespace of the kubeconfig's context.
    """

    def __init__(self, access: Access) -> None:
        """Read the kubeconfig, and run the exec plugin that the kubeconfig may name.

        Raises:
            UsageError: the file or the context does not exist.
            TfgenError: the kubeconfig cannot be read, or the exec plugin fails.
        """
        self._access = access
        self.renew()

    def renew(self) -> None:
        """Read the kubeconfig again, because another program may have replaced an expired token.

        Raises:
            UsageError: the file or the context does not exist.
            TfgenError: the kubeconfig cannot be read, or the exec plugin fails.
        """
        client, config = _kubernetes()
        files = _files(self._access)
        configuration = client.Configuration()
        with _client_errors(", ".join(files) or "the pod's service account"):
            if files:
                self.namespace: str = _load(files, self._access.context, configuration)
            else:
                config.load_incluster_config(configuration)
                file = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
                self.namespace = file.read_text(encoding="utf-8").strip()
            self.host: str = configuration.host
            configuration.connection_pool_maxsize = 256  # each log that tfgen follows uses a separate connection
            self.pool = client.ApiClient(configuration).rest_client.pool_manager
        self._configuration = configuration

    def headers(self) -> dict[str, str]:
        """Return the HTTP headers that identify the account. The kubernetes client renews an expired token first.

        Raises:
            TfgenError: the exec plugin fails.
        """
        with _client_errors(self.host):
            token = self._configuration.auth_settings().get("BearerToken", {}).get("value")
        return {"Authorization": token} if token else {}


def context_names(access: Access) -> tuple[str, ...]:
    """Return the names of the contexts in the kubeconfig.

    Raises:
        UsageError: no kubeconfig exists.
        TfgenError: the kubeconfig cannot be read.
    """
    _, config = _kubernetes()
    files = _files(access)
    if not files:
        return ()
    with _client_errors(", ".join(files)):
        contexts, _ = config.list_kube_config_contexts(os.pathsep.join(files))
        return tuple(context["name"] for context in contexts)


def _kubernetes() -> tuple[ModuleType, ModuleType]:
    """Import the kubernetes client, and return its modules (client, config).

    Raises:
        MissingPackageError: the package is not installed.
    """
    try:
        from kubernetes import client, config  # takes 300 ms, which only a request to a cluster needs
    except ImportError as error:
        raise MissingPackageError("the Kubernetes client is not installed", "kubernetes", "urllib3") from error
    return client, config


def _files(access: Access) -> list[str]:
    """Return the kubeconfig files. If the list is empty, tfgen uses the service account of the pod in which it runs."""
    if access.kubeconfig is not None:
        missing = [file for file in access.kubeconfig.split(os.pathsep) if file and not Path(file).is_file()]
        if missing:
            raise UsageError(f"{either(missing, 'and')}: the kubeconfig does not exist")
    named = access.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    files = [str(Path(file)) for file in named.split(os.pathsep) if file]
    present = [file for file in map(os.path.expanduser, files) if Path(file).is_file()]
    if present or os.environ.get("KUBERNETES_SERVICE_HOST"):
        return present
    raise UsageError(f"the kubeconfig {named} does not exist; set --kubeconfig, or the variable KUBECONFIG")


def _load(files: Sequence[str], context: str | None, configuration: Any) -> str:
    """Load the kubeconfig files into `configuration`, the settings of the kubernetes client.

    Return the namespace of the context.
    """
    config = _kubernetes()[1]
    path = os.pathsep.join(files)
    contexts, active = config.list_kube_config_contexts(path)
    if context is not None:
        names = [candidate["name"] for candidate in contexts]
        if context not in names:
            contexts = f"its contexts are {either(names, 'and')}" if names else "it has no contexts"
            hint = meant(nearest(context, names)) or f"; {contexts}"
            raise UsageError(f"{path}: the kubeconfig has no context {context!r}{hint}")
        active = next(candidate for candidate in contexts if candidate["name"] == context)
    config.load_kube_config(path, context=context, client_configuration=configuration)
    return str((active.get("context") or {}).get("namespace") or "default")


@contextmanager
def _client_errors(source: str) -> Iterator[None]:
    """Raise a TfgenError if the kubernetes client raises or logs an error in the `with` block.

    The message begins with `source`, the origin of the settings, such as the path of the kubeconfig.
    """
    # The kubernetes client only logs the failure of an exec plugin.
    errors, logger = BufferingHandler(sys.maxsize), logging.getLogger()
    errors.setLevel(logging.ERROR)
    handlers = logger.handlers[:]
    logger.handlers = [errors]
    try:
        yield
    except TfgenError:
        raise
    except (_kubernetes()[1].ConfigException, *_UNREADABLE) as error:
        raise TfgenError(f"{source}: {error}") from error
    finally:
        logger.handlers = handlers
    if errors.buffer:
        raise TfgenError(f"{source}: {'; '.join(record.getMessage() for record in errors.buffer)}")

"""The way to an API server, as kubectl finds it: kubeconfig, context and namespace, or the pod's own account.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from tfgen.errors import TfgenError, UsageError
from tfgen.live.kubernetes_client import client, config, websocket, ws_client
from tfgen.record import Record
from tfgen.words import either, meant, nearest

DEFAULT_NAMESPACE: Final = "default"
_HOME_FILE: Final = "~/.kube/config"
_OWN_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_CONNECTIONS: Final = 256
"""Kept at once: a log that is followed holds one for each container."""
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
_UNREADABLE: Final = (
    config.ConfigException,
    yaml.YAMLError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
)
"""What the client raises of a kubeconfig that is none."""


class Access(Record):
    """What a user says of the cluster; None for what kubectl would take.

    Attributes:
        kubeconfig: files, as the variable KUBECONFIG names them.
        context: of the kubeconfig.
        namespace: instead of the one that the job or the context says.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None


class Connection:
    """An API server and who asks it.

    Attributes:
        host: the server's address.
        pool: urllib3's pool of connections to it.
        namespace: that of the context.
    """

    host: str
    pool: Any
    namespace: str

    def __init__(self, access: Access) -> None:
        """Reads the kubeconfig, and runs the exec plugin that it may name.

        Raises:
            UsageError: there is no such file or context.
            TfgenError: it cannot be read, or its exec plugin fails.
        """
        self._access = access
        self.renew()

    def renew(self) -> None:
        """Reads it again: a token may have expired, and another one be there.

        Raises:
            UsageError: as at first.
            TfgenError: as at first.
        """
        files = _files(self._access)
        configuration = client.Configuration()
        with _told_errors(", ".join(files) or "the pod's service account"):
            if files:
                self.namespace = _load(files, self._access.context, configuration)
            else:
                config.load_incluster_config(configuration)
                self.namespace = _OWN_NAMESPACE.read_text(encoding="utf-8").strip()
            self.host = configuration.host
            configuration.connection_pool_maxsize = _CONNECTIONS
            self.pool = client.ApiClient(configuration).rest_client.pool_manager
        self._configuration = configuration

    def headers(self) -> dict[str, str]:
        """Who asks. A token whose time is over is first made anew.

        Raises:
            TfgenError: the exec plugin fails.
        """
        with _told_errors(self.host):
            token = self._configuration.auth_settings().get("BearerToken", {}).get("value")
        return {"Authorization": token} if token else {}

    def web_socket(self, path: str, query: Sequence[tuple[str, str]], protocol: str, patience: float) -> Any:
        """A websocket of websocket-client with the server, by the account and the TLS of all requests.

        The client's own function for it waits for ever.

        Args:
            path: what is asked for.
            query: and how.
            protocol: of what goes through it.
            patience: the seconds that the server has for each part of its answer.

        Raises:
            websocket.WebSocketException: the server refuses it, or says nothing in time.
            OSError: there is no server, or it says nothing in time.
        """
        headers = {**self.headers(), "Sec-WebSocket-Protocol": protocol}
        url = ws_client.get_websocket_url(f"{self.host}{path}", list(query))
        options: dict[str, Any] = {"header": [f"{key}: {value}" for key, value in headers.items()]}
        if self._configuration.proxy or self._configuration.proxy_headers:
            options = ws_client.websocket_proxycare(options, self._configuration, url, headers)
        socket: Any = websocket.WebSocket(sslopt=_tls(self._configuration), skip_utf8_validation=False)
        socket.connect(url, timeout=patience, **options)
        return socket


def _tls(configuration: Any) -> dict[str, Any]:
    """The client's settings of TLS, by websocket-client's names for them."""
    settings = {
        "cert_reqs": ssl.CERT_REQUIRED if configuration.verify_ssl else ssl.CERT_NONE,
        "ca_certs": configuration.ssl_ca_cert,
        "check_hostname": configuration.assert_hostname,
        "certfile": configuration.cert_file,
        "keyfile": configuration.key_file,
        "server_hostname": configuration.tls_server_name,
    }
    return {key: value for key, value in settings.items() if value is not None}


def context_names(access: Access) -> tuple[str, ...]:
    """The contexts that there are.

    Raises:
        UsageError: there is no kubeconfig.
        TfgenError: it cannot be read.
    """
    files = _files(access)
    if not files:
        return ()
    with _told_errors(", ".join(files)):
        contexts, _ = config.list_kube_config_contexts(os.pathsep.join(files))
        return tuple(context["name"] for context in contexts)


def _files(access: Access) -> list[str]:
    """The kubeconfig files; none where the account of the pod is taken instead."""
    if access.kubeconfig is not None:
        missing = [file for file in access.kubeconfig.split(os.pathsep) if file and not Path(file).is_file()]
        if missing:
            raise UsageError(f"{either(missing, 'and')}: no such kubeconfig")
    named = access.kubeconfig or os.environ.get("KUBECONFIG") or _HOME_FILE
    files = [str(path) for path in map(Path, filter(None, named.split(os.pathsep)))]
    there = [file for file in map(os.path.expanduser, files) if Path(file).is_file()]
    if there or os.environ.get(_IN_CLUSTER):
        return there
    raise UsageError(
        f"no cluster: there is no {named}; name a kubeconfig by --kubeconfig, or by the variable KUBECONFIG"
    )


def _load(files: Sequence[str], context: str | None, configuration: Any) -> str:
    """Reads the files into a configuration, and gives the namespace of the context."""
    path = os.pathsep.join(files)
    contexts, active = config.list_kube_config_contexts(path)
    if context is not None:
        names = [known["name"] for known in contexts]
        if context not in names:
            hint = meant(nearest(context, names)) or f"; it has {either(names, 'and') if names else 'none'}"
            raise UsageError(f"{path}: no context {context!r}{hint}")
        active = next(known for known in contexts if known["name"] == context)
    config.load_kube_config(path, context=context, client_configuration=configuration)
    namespace: str = (active.get("context") or {}).get("namespace") or DEFAULT_NAMESPACE
    return namespace


class _Errors(logging.Handler):
    """Keeps what is logged: the client logs an exec plugin's failure, and goes on without an account."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _told_errors(what: str) -> Iterator[None]:
    """The client's errors, and those that it only logs, as one error of tfgen."""
    errors, logger = _Errors(), logging.getLogger()
    handlers = logger.handlers[:]
    logger.handlers = [errors]
    try:
        yield
    except TfgenError:
        raise
    except _UNREADABLE as error:
        raise TfgenError(f"{what}: {error}") from error
    finally:
        logger.handlers = handlers
    if errors.messages:
        raise TfgenError(f"{what}: {'; '.join(errors.messages)}")

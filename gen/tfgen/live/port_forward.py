"""A local port on the loopback interface that forwards connections to a port of a pod.

Each connection has a separate websocket. Stream 0 transports the data, and stream 1 the errors of the kubelet. In each
stream, the first message is the number of the port:
https://github.com/kubernetes/kubernetes/blob/v1.33.0/staging/src/k8s.io/kubelet/pkg/cri/streaming/portforward/websocket.go
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from typing import Final

from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live.api import Api
from tfgen.live.channels import Channels
from tfgen.live.task_pod import path_of

LOOPBACK: Final = "127.0.0.1"
_PROTOCOL: Final = "v4.channel.k8s.io"
_DATA: Final = 0
_PORT_SIZE: Final = 2
"""Size in bytes of the message with the port number."""
_PART: Final = 1 << 16


class PortForward:
    """A local port that forwards connections. The context manager opens and closes the port.

    tfgen looks up the pod for each new connection, because another pod may have replaced the first pod.

    Attributes:
        port: number of the local port.
    """

    port: int

    def __init__(
        self,
        api: Api,
        namespace: str,
        pod: Callable[[], Object],
        pod_port: int,
        port: int | None,
        tell: Callable[[str], None],
    ) -> None:
        """Prepare the port. `__enter__` opens the port.

        Args:
            api: client of the cluster.
            namespace: namespace of the pod.
            pod: function that looks up and returns the pod.
            pod_port: port of the pod.
            port: local port. 0 selects any free port. None selects the number of the pod's port, or any free port if
                this number is in use.
            tell: function that receives one line for each connection that failed.
        """
        self._api, self._namespace, self._pod, self._pod_port = api, namespace, pod, pod_port
        self._requested, self._tell = port, tell
        self._exit = contextlib.ExitStack()

    def __enter__(self) -> PortForward:
        """Listen on the port.

        Raises:
            ApiError: the account may not forward ports.
            TfgenError: the pod does not exist, or the port is in use.
        """
        with self._open():
            pass  # a missing permission is reported before the first connection
        self._listener = self._exit.enter_context(_listen(self._requested, self._pod_port))
        self.port = self._listener.getsockname()[1]
        return self

    def __exit__(self, *_error: object) -> None:
        self._exit.close()

    def serve(self) -> None:
        """Forward connections until the user presses Ctrl-C."""
        while True:
            local, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=[local], daemon=True).start()

    def _open(self) -> Channels:
        path = path_of(self._api, self._namespace, self._pod(), "portforward")
        return self._api.channels(path, [("ports", str(self._pod_port))], _PROTOCOL)

    def _serve(self, local: socket.socket) -> None:
        """Forward one connection, and close the connection after an error."""
        with local:
            try:
                with self._open() as channels:
                    _copy_streams(local, channels)
            except TfgenError as error:
                self._tell(str(error))
            except OSError:  # the local client has closed the connection
                pass


def _copy_streams(local: socket.socket, channels: Channels) -> None:
    """Copy bytes between a local connection and the websocket, until the local client or the pod closes the connection.

    Raises:
        TfgenError: the kubelet reports an error, or the connection is lost.
        OSError: the local client has closed the connection.
    """
    begun: set[int] = set()
    error = b""
    has_more = True
    while channels.is_open and (has_more or not channels.is_sent):
        if channels.wait([local] if has_more and channels.has_room else []):
            data = local.recv(_PART)
            has_more = bool(data)
            if data:
                channels.send(_DATA, data)
        for channel, data in channels.receive():
            payload = data if channel in begun else data[_PORT_SIZE:]
            begun.add(channel)
            if channel == _DATA:
                local.sendall(payload)
            else:
                error += payload
    if error:
        raise TfgenError(error.decode("utf-8", "replace").strip())


def _listen(port: int | None, preferred: int) -> socket.socket:
    """Return a socket that listens on the loopback interface.

    Args:
        port: port to listen on; 0 for any free port. If `port` is None, listen on the port `preferred`, or on any free
            port if `preferred` is in use.
        preferred: number of the pod's port.

    Raises:
        TfgenError: the port is in use.
    """
    if port is None:
        with contextlib.suppress(OSError):
            return socket.create_server((LOOPBACK, preferred))
    try:
        return socket.create_server((LOOPBACK, port or 0))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)  # the message already contains the address
        raise TfgenError(f"{LOOPBACK}:{port}: {reason}; set --port to a free port") from error

"""A port of this machine's loopback whose connections end at a port of a pod.

Each connection has a websocket of its own, in which stream 0 is its data and stream 1 the kubelet's errors; the first
message of each is the number of the port:
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
"""Bytes of a port's number."""
_PART: Final = 1 << 16


class PortForward:
    """The port, from entering it on.

    The pod is looked for anew for each connection, so one that is made anew takes the place of the one before.

    Attributes:
        port: of this machine.
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
        """Describes the port.

        Args:
            api: the cluster.
            namespace: that of the pod.
            pod: looks for the pod.
            pod_port: of the pod.
            port: of this machine, 0 for any; None for the pod's, or any where that is taken.
            tell: is told, in a line, of a connection that could not be carried.
        """
        self._api, self._namespace, self._pod, self._pod_port = api, namespace, pod, pod_port
        self._wanted, self._tell = port, tell
        self._exit = contextlib.ExitStack()

    def __enter__(self) -> PortForward:
        """Listens.

        Raises:
            ApiError: the account may not forward ports.
            TfgenError: the pod is not there, or the port is taken.
        """
        with self._open():
            pass  # what it may not do is told before anybody comes
        self._listener = self._exit.enter_context(_listen(self._wanted, self._pod_port))
        self.port = self._listener.getsockname()[1]
        return self

    def __exit__(self, *_error: object) -> None:
        self._exit.close()

    def serve(self) -> None:
        """Carry connections until this is interrupted."""
        while True:
            local, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=[local], daemon=True).start()

    def _open(self) -> Channels:
        path = path_of(self._api, self._namespace, self._pod(), "portforward")
        return self._api.channels(path, [("ports", str(self._pod_port))], _PROTOCOL)

    def _serve(self, local: socket.socket) -> None:
        """Carry one connection; whoever made it sees no more than its end."""
        with local:
            try:
                with self._open() as channels:
                    _carry(local, channels)
            except TfgenError as error:
                self._tell(str(error))
            except OSError:  # the local side has gone
                pass


def _carry(local: socket.socket, channels: Channels) -> None:
    """Carry bytes both ways, until one side has no more.

    Raises:
        TfgenError: the kubelet says that it cannot, or the server is lost.
        OSError: the local side has gone.
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
            rest = data if channel in begun else data[_PORT_SIZE:]
            begun.add(channel)
            if channel == _DATA:
                local.sendall(rest)
            else:
                error += rest
    if error:
        raise TfgenError(error.decode("utf-8", "replace").strip())


def _listen(port: int | None, preferred: int) -> socket.socket:
    """A socket that listens on loopback.

    Raises:
        TfgenError: the port is taken.
    """
    if port is None:
        with contextlib.suppress(OSError):
            return socket.create_server((LOOPBACK, preferred))
    try:
        return socket.create_server((LOOPBACK, port or 0))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)  # its own text repeats the address
        raise TfgenError(f"{LOOPBACK}:{port}: {reason}; take another --port") from error

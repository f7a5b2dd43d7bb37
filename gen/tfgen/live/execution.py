"""Runs a command in a task's container, as `kubectl exec` does: with streams, terminal and exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live.api import Api
from tfgen.live.channels import Channels
from tfgen.live.task_pod import path_of
from tfgen.live.task_state import main_container
from tfgen.record import Record

_PROTOCOL: Final = "v5.channel.k8s.io"
"""First version of the websocket protocol that can close the command's standard input (KEP 4006)."""
STDOUT: Final = 1
STDERR: Final = 2
_STDIN: Final = 0
_STATUS: Final = 3
_SIZE: Final = 4
_PART: Final = 1 << 16
"""Maximum number of bytes that one read takes from standard input."""


class Terminal(Protocol):
    """The terminal in which the user runs tfgen."""

    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when the size of the terminal changes."""

    def size(self) -> tuple[int, int]:
        """Return the current number of columns and lines of the terminal."""


class LocalStreams(Record):
    """The local input and output of a command that runs in a container.

    Attributes:
        write: function that receives output of the command. The first argument is the number of the stream, STDOUT or
            STDERR; with a terminal, always STDOUT. The second argument is the output.
        stdin: file descriptor for the command's standard input; None for no standard input.
        terminal: the user's terminal; None for a command without a terminal.
    """

    write: Callable[[int, bytes], None]
    stdin: int | None = None
    terminal: Terminal | None = None


def execute(api: Api, namespace: str, pod: Object, command: Sequence[str], streams: LocalStreams) -> int:
    """Run a command in the training container of a pod, and return the exit code.

    Raises:
        ApiError: the account may not run commands in pods.
        TfgenError: the command cannot be started, or the connection is lost before the command ends.
    """
    query = [
        ("container", main_container(pod)),
        ("stdin", _word(streams.stdin is not None)),
        ("stdout", _word(True)),
        ("stderr", _word(streams.terminal is None)),
        ("tty", _word(streams.terminal is not None)),
        *(("command", word) for word in command),
    ]
    with api.channels(path_of(api, namespace, pod, "exec"), query, _PROTOCOL) as channels:
        status = _copy_streams(channels, streams)
    if not status:
        raise TfgenError(f"{pod['metadata']['name']}: the connection was lost before the command ended")
    return _exit_code(pod["metadata"]["name"], json.loads(status))


def _copy_streams(channels: Channels, streams: LocalStreams) -> bytes:
    """Copy data between the local streams and the websocket, until the server closes the websocket.

    At the end of the command, the server sends a `Status` object. Return the JSON of this object.
    """
    status = b""
    stdin, terminal = streams.stdin, streams.terminal
    while channels.is_open:
        inputs = [] if stdin is None or not channels.has_room else [stdin]
        ready = channels.wait([*inputs, *([terminal] if terminal else [])])
        if terminal and terminal in ready:
            columns, lines = terminal.size()
            channels.send(_SIZE, json.dumps({"Width": columns, "Height": lines}).encode())
        if stdin is not None and stdin in ready:
            data = os.read(stdin, _PART)
            if data:
                channels.send(_STDIN, data)
            else:
                channels.end(_STDIN)
                stdin = None
        for channel, data in channels.receive():
            if channel == _STATUS:
                status += data
            elif data:
                streams.write(channel, data)
    return status


def _exit_code(pod: str, status: Any) -> int:
    """Return the exit code of a command from the `Status` object that the server sends when the command ends.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
    """
    if status.get("status") == "Success":
        return 0
    causes = data_path.at(status, ("details", "causes")) or ()
    code = next((cause.get("message", "") for cause in causes if cause.get("reason") == "ExitCode"), "")
    if not code.isdecimal():
        raise TfgenError(f"{pod}: {status.get('message', 'the command did not run')}")
    return int(code)


def _word(flag: bool) -> str:
    return "true" if flag else "false"

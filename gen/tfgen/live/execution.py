"""A command in a task's container: its streams, its terminal and its exit code."""

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
"""The first that can say that standard input ends (KEP 4006)."""
STDOUT: Final = 1
STDERR: Final = 2
_STDIN: Final = 0
_STATUS: Final = 3
_SIZE: Final = 4
_PART: Final = 1 << 16
"""Bytes of standard input that are read at once."""


class Terminal(Protocol):
    """The user's terminal."""

    def fileno(self) -> int:
        """What can be read once the terminal has another size than it was told."""

    def size(self) -> tuple[int, int]:
        """Its columns and lines now."""


class Ends(Record):
    """The command's streams on this side.

    Attributes:
        write: takes what comes from STDOUT or STDERR; a terminal's is all STDOUT's.
        stdin: the file descriptor that the command's standard input is read from; None where it has none.
        terminal: the one that the command gets; None for none.
    """

    write: Callable[[int, bytes], None]
    stdin: int | None = None
    terminal: Terminal | None = None


def execute(api: Api, namespace: str, pod: Object, command: Sequence[str], ends: Ends) -> int:
    """Run a command in the container of a pod that trains, and give its exit code.

    Raises:
        ApiError: the account may not do it.
        TfgenError: the command cannot be started, or the connection breaks off before its end.
    """
    query = [
        ("container", main_container(pod)),
        ("stdin", _word(ends.stdin is not None)),
        ("stdout", _word(True)),
        ("stderr", _word(ends.terminal is None)),
        ("tty", _word(ends.terminal is not None)),
        *(("command", word) for word in command),
    ]
    with api.channels(path_of(api, namespace, pod, "exec"), query, _PROTOCOL) as channels:
        status = _carry(channels, ends)
    if not status:
        raise TfgenError(f"{pod['metadata']['name']}: the connection broke off before the command ended")
    return _exit_code(pod["metadata"]["name"], json.loads(status))


def _carry(channels: Channels, ends: Ends) -> bytes:
    """Carry the streams until the other side ends them, and give what it says of the command's end."""
    status = b""
    stdin, terminal = ends.stdin, ends.terminal
    while channels.is_open:
        others = [] if stdin is None or not channels.has_room else [stdin]
        ready = channels.wait([*others, *([terminal] if terminal else [])])
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
                ends.write(channel, data)
    return status


def _exit_code(pod: str, status: Any) -> int:
    """https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ as exec has it."""
    if status.get("status") == "Success":
        return 0
    causes = data_path.at(status, ("details", "causes")) or ()
    code = next((cause.get("message", "") for cause in causes if cause.get("reason") == "ExitCode"), "")
    if not code.isdecimal():
        raise TfgenError(f"{pod}: {status.get('message', 'the command was not run')}")
    return int(code)


def _word(answer: bool) -> str:
    return "true" if answer else "false"

"""The terminal of the user, while a command in a container uses the terminal."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from types import FrameType


class RawTerminal:
    """Standard input as a terminal in raw mode: each key, Ctrl-C included, goes to the command in the container."""

    def __init__(self) -> None:
        self._stdin = sys.stdin.fileno()

    def __enter__(self) -> RawTerminal:
        self._before = termios.tcgetattr(self._stdin)
        self._changed, self._change = os.pipe()
        self._handler = signal.signal(signal.SIGWINCH, self._report_change)
        self._report_change()  # the container does not have the initial size yet
        tty.setraw(self._stdin, termios.TCSANOW)  # TCSANOW keeps the keys that were typed before, for the command
        return self

    def __exit__(self, *_error: object) -> None:
        termios.tcsetattr(self._stdin, termios.TCSADRAIN, self._before)
        signal.signal(signal.SIGWINCH, self._handler)
        os.close(self._changed)
        os.close(self._change)

    def fileno(self) -> int:
        """Return the file descriptor that is readable after a change of the size."""
        return self._changed

    def size(self) -> tuple[int, int]:
        """Return the current columns and lines."""
        os.read(self._changed, 1)
        size = os.get_terminal_size(self._stdin)
        return size.columns, size.lines

    def _report_change(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        os.write(self._change, b"\0")

"""Connect the terminal of the user to a command in a container, for `tfgen exec --tty`."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from types import FrameType


class RawTerminal:
    """The terminal of standard input in raw mode: all keys, even Ctrl-C, go to the command in the container."""

    def __init__(self) -> None:
        self._stdin = sys.stdin.fileno()

    def __enter__(self) -> RawTerminal:
        self._before = termios.tcgetattr(self._stdin)
        self._changed, self._change = os.pipe()
        self._handler = signal.signal(signal.SIGWINCH, self._report_change)
        self._report_change()  # send the initial size to the container
        tty.setraw(self._stdin, termios.TCSANOW)  # TCSANOW does not discard keys that were already typed
        return self

    def __exit__(self, *_error: object) -> None:
        termios.tcsetattr(self._stdin, termios.TCSADRAIN, self._before)
        signal.signal(signal.SIGWINCH, self._handler)
        os.close(self._changed)
        os.close(self._change)

    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when the size of the terminal changes."""
        return self._changed

    def size(self) -> tuple[int, int]:
        """Return the current number of columns and lines of the terminal."""
        os.read(self._changed, 1)
        size = os.get_terminal_size(self._stdin)
        return size.columns, size.lines

    def _report_change(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        os.write(self._change, b"\0")

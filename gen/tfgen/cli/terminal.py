"""The user's terminal, lent to a command in a container."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from types import FrameType


class RawTerminal:
    """Standard input as a terminal whose keys pass as they are, Ctrl-C too, from entering it until leaving it."""

    def __init__(self) -> None:
        self._stdin = sys.stdin.fileno()

    def __enter__(self) -> RawTerminal:
        self._before = termios.tcgetattr(self._stdin)
        self._changed, self._change = os.pipe()
        self._handler = signal.signal(signal.SIGWINCH, self._tell)
        self._tell()  # its first size is one that nobody knows
        tty.setraw(self._stdin, termios.TCSANOW)  # what was typed so far is the command's
        return self

    def __exit__(self, *_error: object) -> None:
        termios.tcsetattr(self._stdin, termios.TCSADRAIN, self._before)
        signal.signal(signal.SIGWINCH, self._handler)
        os.close(self._changed)
        os.close(self._change)

    def fileno(self) -> int:
        """What can be read once its size has changed."""
        return self._changed

    def size(self) -> tuple[int, int]:
        """Its columns and lines now."""
        os.read(self._changed, 1)
        size = os.get_terminal_size(self._stdin)
        return size.columns, size.lines

    def _tell(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        os.write(self._change, b"\0")

"""Signals of a program that is started in a terminal."""

from __future__ import annotations

import signal


def heed_terminal() -> None:
    """React to Ctrl-C and to a closed terminal. Call this function in the program's process, before the program begins.

    A background process of a shell ignores SIGINT, and a process under nohup ignores SIGHUP. Their child processes
    inherit this: the tests, and the programs that the tests start.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

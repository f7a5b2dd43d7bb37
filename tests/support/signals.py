"""Signals as a program has them that is started in a terminal."""

from __future__ import annotations

import signal


def heed_terminal() -> None:
    """Heed Ctrl-C and a lost terminal; to be called in the program's process, before it begins.

    What a shell runs in the background ignores the one, what runs under nohup the other, and so does all that either
    starts: the tests too, and the programs that they start.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

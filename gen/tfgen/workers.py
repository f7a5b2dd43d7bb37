"""Work on many items at once, in processes of their own; what comes of it is in the items' order.

    [*map_items(render, documents)]  ==  [render(document) for document in documents]

It starts processes only for many items, and only where they are forked: a new one costs as much as a dozen jobs. A
forked one has the function and the items already, so only what comes of them goes through a pipe.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Final, TypeVar

from tfgen.errors import TfgenError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

MANY: Final = 20
"""Items, of some 50 ms each, from which on it pays."""
MANY_SMALL: Final = 300
"""Items of a millisecond or less from which on it pays."""
_MOST: Final = 8
"""Processes: the items go through pipes, and what is left is done by one."""
_AT_ONCE: Final = 4
"""Items that a process is given, of which none need to be together."""
_SHARES: Final = 4
"""Each process is given items so many times or more, so that all end at about the same time."""
_WORK: Final[list[tuple[Callable[[Any], Any], Sequence[Any], mmap.mmap]]] = []
"""In a worker, the function and the items that it was forked with, and a byte that is set once nobody waits for it."""


def map_items(
    function: Callable[[_Item], _Result],
    items: Sequence[_Item],
    alike: Callable[[_Item], object] | None = None,
    *,
    many: int = MANY,
) -> Generator[_Result, None, None]:
    """What a function makes of each item, in their order, some at a time. The first error is raised.

    To close it ends the processes.

    Args:
        function: what it makes of an item can be pickled.
        items: they stay as they are until all is done.
        alike: one process is given neighbours for which this gives the same, as far as the processes' shares allow: the
            function remembers something of an item for those that are like it.
        many: how many items it takes until several processes pay.

    Raises:
        TfgenError: something killed one of the processes.
    """
    processes = min(_MOST, _processors(), len(items) // _AT_ONCE)
    # A fork of a process with threads may hang: https://docs.python.org/3/library/os.html#os.fork.
    if len(items) < many or processes < 2 or sys.platform != "linux" or threading.active_count() > 1:
        yield from map(function, items)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    lifeline = os.pipe()  # this process alone keeps the end to write open
    given_up = mmap.mmap(-1, 1)  # one byte, which all processes share
    executor = ProcessPoolExecutor(
        processes, get_context("fork"), initializer=_begin, initargs=(function, items, given_up, lifeline)
    )
    try:
        with _undisturbed():  # half a pool cannot be shut down
            results = executor.map(_call, [*_batches(items, alike, processes)])
        yield from chain.from_iterable(results)
    except BrokenProcessPool as error:
        raise TfgenError(
            "a worker process was killed, as the system does when memory runs out; run this again, or on one "
            "processor, which takes less memory: taskset --cpu-list 0 tfgen ..."
        ) from error
    finally:
        given_up[0] = 1  # or Ctrl-C and an error would wait for all that each process was given
        with _undisturbed():  # a second Ctrl-C must not leave any of them at work
            executor.shutdown(cancel_futures=True)
        given_up.close()
        for end in lifeline:
            os.close(end)


def _batches(items: Sequence[_Item], alike: Callable[[_Item], object] | None, processes: int) -> Iterator[range]:
    """Where the items are that a process is given at once."""
    most = max(_AT_ONCE, len(items) // (_SHARES * processes))
    start = 0
    for at in range(1, len(items)):
        may_end = alike is None or at - start == most or alike(items[at]) != alike(items[at - 1])
        if may_end and at - start >= _AT_ONCE:
            yield range(start, at)
            start = at
    yield range(start, len(items))


_ENDS: Final = {signal.SIGINT, signal.SIGTERM}


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals that would end this process wait for the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _begin(
    function: Callable[[Any], Any], items: Sequence[Any], given_up: mmap.mmap, lifeline: tuple[int, int]
) -> None:
    """A worker leaves it to its parent to answer Ctrl-C, and ends with it, even where nobody can tell it to."""
    _WORK.append((function, items, given_up))
    reader, writer = lifeline
    os.close(writer)
    threading.Thread(target=_end_with_parent, args=(reader,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)


def _end_with_parent(reader: int) -> None:
    """Wait for the end of the pipe that the parent holds open: it comes with the parent's, whatever ends that."""
    os.read(reader, 1)
    os._exit(1)


def _call(batch: range) -> list[Any]:
    ((function, items, given_up),) = _WORK
    return [function(items[at]) for at in batch if not given_up[0]]

"""Parallel work on many items in several processes, with the results in the order of the items.

    [*map_items(render, documents)]  ==  [render(document) for document in documents]

`map_items` starts processes only for many items, and only by fork, because the start of a new interpreter takes as long
as the work on a dozen jobs. A forked process already has the function and the items, so only the results go through a
pipe.
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
"""Minimum number of items to start several processes, if an item takes about 50 ms."""
MANY_SMALL: Final = 300
"""Minimum number of items to start several processes, if an item takes a millisecond or less."""
_MOST: Final = 8
"""Maximum number of processes. More processes are not faster, because a single parent process reads all results."""
_AT_ONCE: Final = 4
"""Minimum number of items in a batch."""
_SHARES: Final = 4
"""Minimum number of batches per process, so that all processes end at about the same time."""
_WORK: Final[list[tuple[Callable[[Any], Any], Sequence[Any], mmap.mmap]]] = []
"""The work of a worker process: (function, items, byte). The parent process sets the byte to 1 to stop the worker."""


def map_items(
    function: Callable[[_Item], _Result],
    items: Sequence[_Item],
    alike: Callable[[_Item], object] | None = None,
    *,
    many: int = MANY,
) -> Generator[_Result, None, None]:
    """Yield `function(item)` for each item, in the order of the items, and raise the first error.

    The processes end when the caller closes the generator.

    Args:
        function: the function. The results must be picklable.
        items: the items, which must not change before the generator yields the last result.
        alike: a function that returns a key for an item. Consecutive items with equal keys run in one process if
            possible, because `function` caches data for similar items.
        many: the minimum number of items to start several processes.

    Raises:
        TfgenError: the system killed a process.
    """
    processes = min(_MOST, _processors(), len(items) // _AT_ONCE)
    # A fork of a process with threads may hang: https://docs.python.org/3/library/os.html#os.fork.
    if len(items) < many or processes < 2 or sys.platform != "linux" or threading.active_count() > 1:
        yield from map(function, items)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    lifeline = os.pipe()  # only the parent process has the write end open
    given_up = mmap.mmap(-1, 1)  # a byte that all processes share
    executor = ProcessPoolExecutor(
        processes, get_context("fork"), initializer=_begin, initargs=(function, items, given_up, lifeline)
    )
    try:
        with _undisturbed():  # an incomplete pool cannot be shut down
            results = executor.map(_call, [*_batches(items, alike, processes)])
        yield from chain.from_iterable(results)
    except BrokenProcessPool as error:
        raise TfgenError(
            "the system killed a worker process, probably because memory ran out; run the command again, or use a "
            "single processor, which needs less memory: taskset --cpu-list 0 tfgen ..."
        ) from error
    finally:
        given_up[0] = 1  # tells the processes to skip their remaining items after Ctrl-C or an error
        with _undisturbed():  # a second Ctrl-C must not leave a running process behind
            executor.shutdown(cancel_futures=True)
        given_up.close()
        for end in lifeline:
            os.close(end)


def _batches(items: Sequence[_Item], alike: Callable[[_Item], object] | None, processes: int) -> Iterator[range]:
    """Split the items into batches for the worker processes, and yield the range of item indexes of each batch."""
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
    """Block SIGINT and SIGTERM until the end of the `with` block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _processors() -> int:
    """Return the number of processors that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _begin(
    function: Callable[[Any], Any], items: Sequence[Any], given_up: mmap.mmap, lifeline: tuple[int, int]
) -> None:
    """Set up a worker process: ignore Ctrl-C, and exit when the parent process ends, even if the parent is killed.

    Args:
        function: the function of `map_items`.
        items: the items of `map_items`.
        given_up: a byte in shared memory. If the byte is 1, the worker processes skip their remaining items.
        lifeline: (read end, write end) of a pipe. Only the parent process keeps the write end open, so the system
            closes the pipe when the parent process ends.
    """
    _WORK.append((function, items, given_up))
    reader, writer = lifeline
    os.close(writer)
    threading.Thread(target=_end_with_parent, args=(reader,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)


def _end_with_parent(reader: int) -> None:
    """Exit when the parent process ends, even if the parent is killed: the system then closes the pipe to `reader`."""
    os.read(reader, 1)
    os._exit(1)


def _call(batch: range) -> list[Any]:
    ((function, items, given_up),) = _WORK
    return [function(items[at]) for at in batch if not given_up[0]]

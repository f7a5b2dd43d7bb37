"""Report the progress of a long command. A command passes its work items through a `Track`, which counts the items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

_Item = TypeVar("_Item")


class Track(Protocol):
    """The type of a function that yields the items of a long command, and reports the progress.

    `total` is the number of items.
    """

    def __call__(self, items: Iterable[_Item], total: int, /) -> Iterator[_Item]:
        """Yield the items, and report the progress."""


def untracked(items: Iterable[_Item], _total: int, /) -> Iterator[_Item]:
    """Return the items, without a progress report."""
    return iter(items)

"""The progress of long work: a command passes the items that it works on through a `Track`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

_Item = TypeVar("_Item")


class Track(Protocol):
    """A function that yields items, and reports the progress. `total` is the number of items."""

    def __call__(self, items: Iterable[_Item], total: int, /) -> Iterator[_Item]:
        """Return the items."""


def untracked(items: Iterable[_Item], _total: int, /) -> Iterator[_Item]:
    """Return the items without a report of the progress."""
    return iter(items)

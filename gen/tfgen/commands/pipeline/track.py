"""Who is told how far long work is: the commands hand what they work on through it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

_Item = TypeVar("_Item")


class Track(Protocol):
    """Hands the items on as they are done; it is told how many there are."""

    def __call__(self, items: Iterable[_Item], many: int, /) -> Iterator[_Item]:
        """The same items."""


def untracked(items: Iterable[_Item], _many: int, /) -> Iterator[_Item]:
    """The items of work that nobody watches."""
    return iter(items)

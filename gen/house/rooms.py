"""The rooms of the package, as ARCHITECTURE.md lists them, and who may import whom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from house.imports import Import, room_of

_ROW = re.compile(r"^\| `(\w+)/` \| (.*?) \|$", re.MULTILINE)


class Room(NamedTuple):
    """A room's name, and in one sentence what is in it."""

    name: str
    purpose: str


def rooms(page: str) -> list[Room]:
    """The rooms of the page's table, the highest first."""
    return [Room(*row) for row in _ROW.findall(page)]


def room_names(package: Path) -> set[str]:
    """The folders of the package that hold modules."""
    return {path.parent.name for path in package.glob("*/__init__.py")}


def breaches(items: Sequence[Import], order: Sequence[Room]) -> Iterator[Import]:
    """The imports that lead up, or from the ground into a room. `__main__` may: it starts cli."""
    height = {room.name: -index for index, room in enumerate(order)}
    for item in items:
        importer, imported = room_of(item.importer), room_of(item.imported)
        if importer == imported or not imported or item.importer.endswith(".__main__"):
            continue
        if not importer or height[importer] <= height[imported]:
            yield item

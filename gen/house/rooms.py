"""The rooms in ARCHITECTURE.md, and the imports that break the order of the rooms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from house.imports import Import, room_of

_ROW = re.compile(r"^\| `(\w+)/` \| (.*?) \|$", re.MULTILINE)


class Room(NamedTuple):
    """The name of a room, and its purpose in one sentence."""

    name: str
    purpose: str


def rooms(page: str) -> list[Room]:
    """Return the rooms in the table of the page ARCHITECTURE.md, the highest first."""
    return [Room(*row) for row in _ROW.findall(page)]


def room_names(package: Path) -> set[str]:
    """Return the names of the folders of the package that contain modules."""
    return {path.parent.name for path in package.glob("*/__init__.py")}


def breaches(items: Sequence[Import], order: Sequence[Room]) -> Iterator[Import]:
    """Yield the imports of a higher room, and the imports of a room by the ground.

    `__main__` may import a room, because `__main__` starts `cli`.
    """
    height = {room.name: -index for index, room in enumerate(order)}
    for item in items:
        importer, imported = room_of(item.importer), room_of(item.imported)
        if importer == imported or not imported or item.importer.endswith(".__main__"):
            continue
        if not importer or height[importer] <= height[imported]:
            yield item

"""Imports between the modules of a package, read from the source.

imports(Path("gen/tfgen"))  ->  [Import("tfgen.commands.check", "tfgen.commands.check", 52, Place.FUNCTION), ...]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple


class Place(Enum):
    """The place of an import statement."""

    MODULE = "module"
    FUNCTION = "function"
    TYPES = "types"
    """Below ``if TYPE_CHECKING``, so that Python never runs the import."""


class Import(NamedTuple):
    """An import of a module by another module.

    Attributes:
        importer: name of the module with the statement.
        imported: name of the imported module. The name of a package ends with `__init__`.
        line: line of the statement.
        place: place of the statement.
    """

    importer: str
    imported: str
    line: int
    place: Place


def imports(package: Path) -> list[Import]:
    """Return every import between modules of a package, by importer and line."""
    return [item for path in sorted(package.rglob("*.py")) for item in _imports(path, package)]


def room_of(module: str) -> str:
    """Return the room of a module: the folder in the package; empty for a module outside the rooms.

    >>> room_of("tfgen.graph.naming"), room_of("tfgen.errors")
    ('graph', '')
    """
    _, *steps = module.split(".")
    return steps[0] if len(steps) > 1 else ""


def _imports(path: Path, package: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    importer = _name(path, package)
    for node, place in _statements(tree, Place.MODULE):
        for name in _names(node):
            imported = _module(name, package)
            if imported:
                yield Import(importer, imported, node.lineno, place)


def _statements(node: ast.AST, place: Place) -> Iterator[tuple[ast.Import | ast.ImportFrom, Place]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, place
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _statements(child, Place.FUNCTION)
        elif isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            yield from _statements(child, Place.TYPES)
        else:
            yield from _statements(child, place)


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _module(name: str, package: Path) -> str | None:
    """Return the module of the package that contains a name: `tfgen.words` for `tfgen.words.shown`."""
    steps = name.split(".")
    if steps[0] != package.name:
        return None
    for end in range(len(steps), 0, -1):
        path = package.parent.joinpath(*steps[:end])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return _name(file, package)
    return None


def _name(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package.parent).with_suffix("").parts)

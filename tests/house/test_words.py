"""Words that name nothing: a value is called by what it holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

GEN = Path(__file__).parents[2] / "gen"
NO_NAMES = frozenset({"each", "found", "made", "said"})
MODULES = sorted(path.relative_to(GEN).as_posix() for path in GEN.rglob("*.py"))


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names that a module gives: to values, arguments, fields, functions and imports, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield node.lineno, name
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name


def faults(text: str) -> list[tuple[int, str]]:
    """The names of a module that name nothing, with their lines."""
    return [(line, name) for line, name in names(ast.parse(text)) if name.strip("_") in NO_NAMES]


@pytest.mark.parametrize("module", MODULES)
def test_a_value_is_called_by_what_it_holds(module: str) -> None:
    assert faults((GEN / module).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("found = 1", [(1, "found")]),
        ("def f(said): pass", [(1, "said")]),
        ("def _found(): pass", [(1, "_found")]),
        ("class C:\n    made: int", [(2, "made")]),
        ("[each for each in ()]", [(1, "each")]),
        ("if made := f(): pass", [(1, "made")]),
        ("match x:\n    case {'a': said, **found}: pass", [(2, "found"), (2, "said")]),
        ("import said as found", [(1, "found")]),
        ("finding = 'found' + said.text", []),
    ],
)
def test_a_name_that_names_nothing_is_seen(text: str, expected: list[tuple[int, str]]) -> None:
    assert faults(text) == expected

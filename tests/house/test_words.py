"""Tests that names, docstrings and pages use concrete nouns: no pronoun as a name, no question word as an opening."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GEN = ROOT / "gen"
OPENINGS = frozenset(
    ("What", "Which", "Whether", "Where", "How", "Of", "Those", "Its", "Their", "It", "One", "Both", "None")
)
"""First words of a docstring that refer to a noun which the reader does not know yet."""

PRONOUNS = frozenset(
    """
    own inner outer other others one ones there here said says found made each all both such same else then rest more
    less no_more beside behind below above apart asked wanted given held put kept known unknown seen told
    """.split()  # noqa: SIM905  # a list of names is one line a name
)
"""Names that do not describe their value."""

PHRASES = (
    "as it is",
    "as they are",
    "as it was",
    "as they were",
    "a word for",
    "has no word",
    "is told",
    "are told",
    "is none of",
    "are none of",
    "stands in for",
    "of its own accord",
    "makes anew",
    "made anew",
)
"""Phrases that a page does not use, in lower case. A match begins and ends at word boundaries."""

PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "docs/rules.md",
    "docs/cli.md",
    "docs/testing.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/*/README.md")),
)

MODULES = sorted(path.relative_to(ROOT).as_posix() for path in GEN.rglob("*.py"))


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that a module binds, with their lines. `__all__` and imports without `as` do not count."""
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


def openings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the first words of the docstrings of a module, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text and text.split():
                yield node.body[0].lineno, text.split()[0].strip(",:")


def name_faults(text: str) -> list[tuple[int, str]]:
    """Return the names of a module that are pronouns or adverbs, with their lines."""
    bound = names(ast.parse(text))
    return [(line, name) for line, name in bound if name.strip("_") in PRONOUNS and name != "__all__"]


def opening_faults(text: str) -> list[tuple[int, str]]:
    """Return the docstring openings of a module that stand for a noun, with their lines."""
    return [(line, word) for line, word in openings(ast.parse(text)) if word in OPENINGS]


def phrase_faults(text: str) -> list[str]:
    """Return the banned phrases of a text, in the order of `PHRASES`."""
    words = " ".join(text.lower().split())
    return [phrase for phrase in PHRASES if re.search(rf"\b{re.escape(phrase)}\b", words)]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MODULES)
def test_names_and_openings_of_the_code_name_things(path: str) -> None:
    assert (name_faults(read(path)), opening_faults(read(path))) == ([], [])


def test_openings_of_the_tests_name_things() -> None:
    paths = sorted((ROOT / "tests").rglob("*.py"))
    assert [(path, fault) for path in paths for fault in opening_faults(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", PAGES)
def test_pages_use_plain_phrases(path: str) -> None:
    assert phrase_faults(read(path)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("found = 1", [(1, "found")]),
        ("def f(said): pass", [(1, "said")]),
        ("def _found(): pass", [(1, "_found")]),
        ("class C:\n    made: int", [(2, "made")]),
        ("[each for each in ()]", [(1, "each")]),
        ("if made := f(): pass", [(1, "made")]),
        ("match x:\n    case {'a': said, **rest}: pass", [(2, "rest"), (2, "said")]),
        ("import said as found", [(1, "found")]),
        ("__all__ = ['f']", []),
        ("finding = 'found' + said.text", []),
    ],
)
def test_a_name_that_names_nothing_is_found(text: str, expected: list[tuple[int, str]]) -> None:
    assert name_faults(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""What a job asks for."""', [(1, "What")]),
        ('def f():\n    """Whether: it runs."""', [(2, "Whether")]),
        ('class C:\n    """\n    Its name.\n    """', [(2, "Its")]),
        ('"""Return the job."""', []),
        ('"""Whatever the job requests."""', []),
    ],
)
def test_an_opening_that_names_nothing_is_found(text: str, expected: list[tuple[int, str]]) -> None:
    assert opening_faults(text) == expected


def test_a_phrase_is_found_across_lines() -> None:
    assert phrase_faults("The file stays as\nit is. A sword for all.") == ["as it is"]

"""The terms of docs/glossary.md: each term is in use, and no file uses a word that the glossary replaces."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "glossary.md"
NOT_YET = ROOT / "tests" / "house" / "old_words.txt"
FILES = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/*/README.md"),
        *ROOT.glob("gen/**/*.py"),
        *ROOT.glob("tests/**/*.py"),
        *ROOT.glob("schemas/*.v1alpha1.schema.json"),
    )
    if path not in (PAGE, Path(__file__))
)


class Term(NamedTuple):
    name: str
    replaced: tuple[str, ...]


def terms() -> list[Term]:
    """Return the rows of the page's tables."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ?([^|]*?) ?\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [Term(name, tuple(re.findall(r"`([^`]+)`", replaced))) for name, replaced in rows if name != "Term"]


def normal(text: str) -> str:
    """Return the words of a text in lower case. A name in code gives several words: "known file" for `KnownFile`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ")
    return " ".join(words.lower().split())


@cache
def texts() -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): normal(path.read_text(encoding="utf-8")) for path in FILES}


def old_words(text: str) -> list[str]:
    """Return the replaced words in a normalized text."""
    return [word for term in terms() for word in term.replaced if re.search(rf"\b{re.escape(word)}\b", text)]


def test_the_page_is_read_whole() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert len(terms()) == sum(line.startswith("| ") for line in lines) - lines.count("| Term | Meaning | Not |")


@pytest.mark.parametrize("name", [term.name for term in terms()])
def test_a_term_is_in_use(name: str) -> None:
    term = re.compile(rf"\b{re.escape(name)}(?:s|d|ed)?\b")
    assert any(term.search(text) for text in texts().values())


def test_no_file_uses_a_replaced_word_but_those_on_the_list() -> None:
    """A file leaves the list with its last replaced word. No file may enter the list."""
    assert [path for path, text in texts().items() if old_words(text)] == NOT_YET.read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class KnownFile(Record):", ["known file"]),
        ("from tfgen.commands import known_files", ["known files"]),
        ("It is held\nagainst the schema.", ["held against"]),
        ("weights = model.weights", []),
    ],
)
def test_a_replaced_word_is_found(text: str, expected: list[str]) -> None:
    assert old_words(normal(text)) == expected

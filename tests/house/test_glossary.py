"""The terms of docs/glossary.md: each term is in use, and no page or message uses a word that the glossary replaces."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support.tools import ROOT

PAGE = ROOT / "docs" / "glossary.md"
PAGES = (
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("examples/*/README.md"),
    *ROOT.glob("schemas/*.v1alpha1.schema.json"),
)


class Term(NamedTuple):
    name: str
    replaced: tuple[str, ...]


def terms() -> list[Term]:
    """Return the rows of the page's tables."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ?([^|]*?) ?\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [Term(name, tuple(re.findall(r"`([^`]+)`", replaced))) for name, replaced in rows if name != "Term"]


def messages(module: str) -> str:
    """Return the texts of a module without its docstrings."""
    tree = ast.parse(module)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in docstrings]
    return "\n".join(node.value for node in constants if isinstance(node.value, str))


@cache
def texts() -> dict[Path, str]:
    """Return the words of each page and of the messages of each module, in lower case."""
    pages = {path: path.read_text(encoding="utf-8") for path in PAGES if path != PAGE}
    modules = {path: messages(path.read_text(encoding="utf-8")) for path in ROOT.glob("gen/tfgen/**/*.py")}
    return {path: " ".join(text.lower().split()) for path, text in {**pages, **modules}.items()}


def old_words(text: str) -> list[str]:
    """Return the replaced words in a text in lower case."""
    return [word for term in terms() for word in term.replaced if re.search(rf"\b{re.escape(word)}\b", text)]


def test_each_row_is_a_term_in_use() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert len(terms()) == sum(line.startswith("| ") for line in lines) - lines.count("| Term | Meaning | Not |")
    unused = [
        term.name
        for term in terms()
        if not any(re.search(rf"\b{re.escape(term.name)}(?:s|d|ed)?\b", text) for text in texts().values())
    ]
    assert unused == []


def test_no_page_or_message_uses_a_replaced_word() -> None:
    assert {path: old_words(text) for path, text in texts().items() if old_words(text)} == {}


def test_a_replaced_word_is_found_in_a_message() -> None:
    module = '"""The known files."""\nweights = 1  # the fate\nraise Error(f"{weights} is held against the schema")'
    assert old_words(messages(module)) == ["held against"]

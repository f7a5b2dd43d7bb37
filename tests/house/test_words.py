"""Tests that pages use concrete phrases."""

from __future__ import annotations

import re

from tests.support.tools import ROOT

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


def phrase_faults(text: str) -> list[str]:
    """Return the banned phrases of a text, in the order of `PHRASES`."""
    words = " ".join(text.lower().split())
    return [phrase for phrase in PHRASES if re.search(rf"\b{re.escape(phrase)}\b", words)]


def test_pages_use_plain_phrases() -> None:
    faults = {path: phrase_faults((ROOT / path).read_text(encoding="utf-8")) for path in PAGES}
    assert {path: phrases for path, phrases in faults.items() if phrases} == {}


def test_a_phrase_is_found_across_lines() -> None:
    assert phrase_faults("The file stays as\nit is. A sword for all.") == ["as it is"]

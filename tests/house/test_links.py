"""Tests that each relative link of a document leads to a file, and to a heading of the file."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.support.tools import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")])
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s]+)\)")
FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.DOTALL | re.MULTILINE)


@cache
def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    return {name if not number else f"{name}-{number}" for name, last in found.items() for number in range(last + 1)}


def test_each_link_has_its_target() -> None:
    missing = []
    for document in DOCUMENTS:
        for link in LINK.findall(FENCE.sub("", document.read_text(encoding="utf-8"))):
            name, _, anchor = link.partition("#")
            target = (document.parent / name).resolve() if name else document
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                missing.append(f"{document.relative_to(ROOT)}: {link}")
    assert missing == []


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages == pages & set(re.findall(r"\]\(([\w-]+\.md)", index))

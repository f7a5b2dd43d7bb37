"""Explain a rule by its section of docs/rules.md. The installed package includes this file."""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PAGE: Final = "rules.md"
_HEADING: Final = re.compile(r"^#{2,3} (?:`([a-z-]+)`)?.*$", re.MULTILINE)
_FENCE: Final = re.compile(r"^```.*$", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def explain_rule(rule: str) -> str | None:
    """Return the section about a rule in docs/rules.md as plain text; None if no rule has this id."""
    section = _sections().get(rule)
    if section is None:
        return None
    parts = (_indent_example(part, is_example=index % 2 == 1) for index, part in enumerate(_FENCE.split(section)))
    return f"{rule}\n\n{textwrap.indent(''.join(parts).strip(), '  ')}\n"


def rule_ids() -> tuple[str, ...]:
    """Return the ids of all rules, in the order of docs/rules.md."""
    return tuple(_sections())


def _indent_example(part: str, *, is_example: bool) -> str:
    return textwrap.indent(part.strip("\n"), "  ") if is_example else _LINK.sub(r"\1", part)


@functools.cache
def _sections() -> Mapping[str, str]:
    text = _path().read_text(encoding="utf-8")
    headings = [*_HEADING.finditer(text)]
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return {
        heading[1]: text[heading.end() : end].strip() for heading, end in zip(headings, ends, strict=True) if heading[1]
    }


def _path() -> Path:
    """Return the path of rules.md in the installed package, or in a checkout of tfgen."""
    package = Path(__file__).parents[2]
    installed = package / "docs" / PAGE
    return installed if installed.exists() else package.parent.parent / "docs" / PAGE

"""Text as Go templates have it: literals, fields, and a user's text that Helm prints as it stands.

https://pkg.go.dev/text/template
"""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Sequence
from typing import Final, TypeAlias

Lines: TypeAlias = list[str]

ENDED: Final = "{{- end }}"

COMMENT_WIDTH: Final = 120
"""Of a comment's lines."""

_SPACE: Final = (" ", "\t", "\r", "\n")
"""What Go trims beside an action with a dash."""


@functools.cache
def field(base: str, path: str) -> str:
    """A field of the values: dots where Go's syntax takes every name, else ``index``."""
    names = [name for name in path.split(".") if name]
    if all(name.isidentifier() and name.isascii() for name in names):
        return ".".join([base, *names])
    return f"(index {base} {' '.join(literal(name) for name in names)})"


def literal(value: str | int) -> str:
    """A constant: between backquotes, as it stands, where quotes would have to be escaped."""
    if isinstance(value, str) and ('"' in value or "\\" in value) and value.isprintable() and "`" not in value:
        return f"`{value}`"
    return json.dumps(value, ensure_ascii=False)


def escape(text: str) -> str:
    """Text that Helm prints as it stands."""
    return text.replace("{{", '{{ "{{" }}')


def keep_space(text: str) -> str:
    """Text that keeps the white space at its ends beside actions that trim."""
    core = text.strip("".join(_SPACE))
    start, _, end = text.partition(core) if core else (text, "", "")
    before, after = (f"{{{{ {literal(space)} }}}}" if space else "" for space in (start, end))
    return f"{before}{core}{after}"


def join(texts: Sequence[str]) -> str:
    """The texts in a row. Go would take a brace before an action for part of its start; its dash would eat a space."""
    out = ""
    for text in texts:
        if text.startswith("{{") and out.endswith("{") and not out.endswith("}}{{"):
            out = f'{out[:-1]}{{{{ "{{" }}}}'
        out += text.replace("{{-", "{{", 1) if text.startswith("{{-") and out.endswith(_SPACE) else text
    return out


def indent_lines(text: str, indent: str) -> Lines:
    """The lines of a text, all but the empty ones indented."""
    return [f"{indent}{line}" if line else line for line in text.removesuffix("\n").split("\n")]


def with_shared_tests(lines: Lines) -> Lines:
    """Lines that set a variable, of which neighbours under one test, which cannot ask for the variable, share it."""
    out: Lines = []
    test = ""
    for line in lines:
        if line.startswith("{{- if "):
            if out and out[-1] == ENDED and line == test:
                del out[-1]
                continue
            test = line
        elif line.startswith("{{- range "):
            test = ""
        out.append(line)
    return out


def with_reasons_once(lines: Lines) -> Lines:
    """The lines without a comment that stands above them already."""
    out: Lines = []
    comment: Lines = []
    seen: set[str] = set()
    for line in lines:
        if comment or line.lstrip().startswith("{{- /* "):
            comment.append(line)
            if not line.endswith(" */}}"):
                continue
            text = " ".join(part.strip() for part in comment)
            out += [] if text in seen else comment
            seen.add(text)
            comment = []
        else:
            out.append(line)
    return out


def comment(text: str, indent: str) -> Lines:
    """A comment of the template's own, which Helm does not print."""
    first, *rest = textwrap.wrap(text, COMMENT_WIDTH - len(indent) - len("{{- /*  */}}"))
    lines = [f"{indent}{{{{- /* {first}", *(f"{indent}       {line}" for line in rest)]
    return [*lines[:-1], f"{lines[-1]} */}}}}"]

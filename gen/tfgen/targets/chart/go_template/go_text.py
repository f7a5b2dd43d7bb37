"""Writes the syntax of Go templates: literals, fields, comments, and text that Helm prints unchanged.

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
"""Maximum length of a line in a comment."""

_SPACE: Final = (" ", "\t", "\r", "\n")
"""The white space that Go removes next to an action with a dash, such as ``{{-``."""


@functools.cache
def field(base: str, path: str) -> str:
    """Return the expression for a field. Example: ``.Values.gang.queue`` for base ``.Values`` and path `gang.queue`.

    For a key that is no identifier of Go, the expression calls ``index``. Example: ``(index .Values "my-key")``.
    """
    names = [name for name in path.split(".") if name]
    if all(name.isidentifier() and name.isascii() for name in names):
        return ".".join([base, *names])
    return f"(index {base} {' '.join(literal(name) for name in names)})"


def literal(value: str | int) -> str:
    """Return a constant as a literal of Go. A text with quotes or backslashes is in backquotes, to avoid escapes."""
    if isinstance(value, str) and ('"' in value or "\\" in value) and value.isprintable() and "`" not in value:
        return f"`{value}`"
    return json.dumps(value, ensure_ascii=False)


def escape(text: str) -> str:
    """Escape a text, so that Helm prints the text unchanged."""
    return text.replace("{{", '{{ "{{" }}')


def keep_space(text: str) -> str:
    """Protect the white space at both ends of a text from the dash of a neighbouring action such as ``{{- end }}``.

    The result has an action, for example ``{{ " " }}``, in place of the white space.
    """
    core = text.strip("".join(_SPACE))
    start, _, end = text.partition(core) if core else (text, "", "")
    before, after = (f"{{{{ {literal(space)} }}}}" if space else "" for space in (start, end))
    return f"{before}{core}{after}"


def join(texts: Sequence[str]) -> str:
    """Concatenate texts and actions of Go templates.

    - Go would read a brace before an action as a part of the action. An action that prints a brace replaces the brace.
    - The dash of an action removes the white space before the action. An action after white space loses its dash.
    """
    out = ""
    for text in texts:
        if text.startswith("{{") and out.endswith("{") and not out.endswith("}}{{"):
            out = f'{out[:-1]}{{{{ "{{" }}}}'
        out += text.replace("{{-", "{{", 1) if text.startswith("{{-") and out.endswith(_SPACE) else text
    return out


def indent_lines(text: str, indent: str) -> Lines:
    """Return the lines of a text with an indentation. Empty lines get no indentation."""
    return [f"{indent}{line}" if line else line for line in text.removesuffix("\n").split("\n")]


def with_shared_tests(lines: Lines) -> Lines:
    """Merge neighbouring ``if`` blocks that have the same test into one block.

    The caller must make sure that no block changes a variable in the test.
    """
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


def without_repeated_reasons(lines: Lines) -> Lines:
    """Return the lines without the comments that repeat an earlier comment."""
    out: Lines = []
    comment: Lines = []
    printed: set[str] = set()
    for line in lines:
        if comment or line.lstrip().startswith("{{- /* "):
            comment.append(line)
            if not line.endswith(" */}}"):
                continue
            text = " ".join(part.strip() for part in comment)
            out += [] if text in printed else comment
            printed.add(text)
            comment = []
        else:
            out.append(line)
    return out


def comment(text: str, indent: str) -> Lines:
    """Return the lines of a template comment, which Helm does not print."""
    first, *remaining = textwrap.wrap(text, COMMENT_WIDTH - len(indent) - len("{{- /*  */}}"))
    lines = [f"{indent}{{{{- /* {first}", *(f"{indent}       {line}" for line in remaining)]
    return [*lines[:-1], f"{lines[-1]} */}}}}"]

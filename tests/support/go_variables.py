"""The variables of Go templates: the declarations of a name that is already declared at the same place.

Go accepts such a declaration, and the later lines then read the new variable. https://pkg.go.dev/text/template
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ACTION = re.compile(r'\{\{-?\s*(/\*.*?\*/|(?:"(?:\\.|[^"\\])*"|`[^`]*`|[^"`}]|\}(?!\}))*?)\s*-?\}\}', re.DOTALL)
_TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|`[^`]*`', re.DOTALL)
_DECLARATION = re.compile(r"((?:\$\w+\s*,\s*)?\$\w+)\s*:=")
_DISCARDED = "$_"
"""The name of a variable that no line reads: its declaration calls a function, such as ``set``, for its effect."""


def repeated_declarations(template: str) -> Iterator[str]:
    """Yield each variable that a template declares while a variable with the same name is already visible."""
    scopes: list[set[str]] = [set()]
    for action in _ACTION.finditer(template):
        text = _TEXT.sub('""', action[1])
        word = re.match(r"\w*", text)[0]
        if word in ("else", "end"):
            scopes.pop()
        if word in ("if", "with", "range", "define", "block", "else"):
            scopes.append(set())
        for names in _DECLARATION.findall(text):
            for name in re.findall(r"\$\w+", names):
                if name != _DISCARDED and any(name in scope for scope in scopes):
                    yield name
                scopes[-1].add(name)
    if len(scopes) != 1:
        raise ValueError(f"found {len(scopes) - 1} actions without an end")

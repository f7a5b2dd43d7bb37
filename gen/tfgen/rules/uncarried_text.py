"""Text that Helm or kustomize would change, or fail on, however it is written.

kustomize 5 resolves the keys of an object's own annotations once more when it applies a patch, as YAML 1.1 does and
quotes or not, and writes their values as blocks whose indentation it then cannot read. Helm 4 trims its output, and
puts line breaks of its own between two objects, which a last text of empty lines takes for its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.graph.objects.storage import SOURCES
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.words import path_name, shown

# Of the forms that goyaml's resolve.go reads as something else, those that a label key can have.
_NOT_TEXT: Final = re.compile(
    r"""
      null | Null | NULL | true | True | TRUE | false | False | FALSE
    | 0[bB][01_]+ | 0[oO][0-7_]+ | 0[xX][0-9a-fA-F_]+
    | [0-9][0-9_]* (\.[0-9_]*)? ([eE][-+]?[0-9_]+)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
    """,
    re.VERBOSE,
)


def _check(view: View) -> Iterator[Finding]:
    # A role's own annotations are its pods', which kustomize leaves alone.
    for key, text in view.values["annotations"].items():
        path: Path = ("annotations", key)
        if _NOT_TEXT.fullmatch(key):
            message = (
                f"kustomize takes the annotation {shown(key)} for a number, a date, a truth value or null, even in "
                f'quotes; give it a prefix, such as "example.com/{key}"'
            )
            yield Finding(path, message)
        if text.startswith("\t") and "\n" in text:
            message = f"{path_name(path)}: kustomize cannot read several lines that begin with a tab; indent by blanks"
            yield Finding(path, message)
    for name, volume in view.values["storage"].items():
        for source in SOURCES:
            for place, text in _texts(("storage", name, source), volume.get(source)):
                if text.endswith("\n\n"):
                    message = f"{path_name(place)}: Helm does not keep empty lines at the end; remove them"
                    yield Finding(place, message)


def _texts(path: Path, value: Any) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts((*path, key), inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts((*path, index), inner)


RULES: Final = (Rule("uncarried-text", "error", "Helm or kustomize would change a text, or fail on it.", _check),)

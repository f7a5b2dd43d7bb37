"""The fields of a pod as Kubernetes has them, for what a job says in Kubernetes' own words.

    misfits(("sidecars", 0), {"name": "metrics", "envs": []}, "Container", text)
        -> Misfit(("sidecars", 0, "envs"), "misspelt", 'unknown field "envs" in sidecars[0]; did you mean "env"?')

The table, `schemas/podtemplatespec.v1.fields.json`, has each type that a PodTemplateSpec is made of, with the type of
each field: those of every Kubernetes that tfgen supports, together. `tests/unit/test_pod_fields.py` writes it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tfgen.data_path import Path
from tfgen.kubernetes.merge_keys import MERGE_KEYS
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema
from tfgen.schema.habits import as_items, flow
from tfgen.schema.hints import expected
from tfgen.schema.messages import found_words, hint_for_value
from tfgen.words import meant, nearest, path_name, shown

NAME: Final = "podtemplatespec.v1.fields.json"
"""The table's file."""

Text: TypeAlias = Callable[[Path], str]
"""The scalar at a path as it was written."""

_LARGEST: Final = 2**53 - 1
_INTEGER: Final[Schema] = {"type": "integer", "minimum": -_LARGEST, "maximum": _LARGEST}
_SCALARS: Final[Mapping[str, Schema]] = {
    "boolean": {"type": "boolean"},
    "integer": _INTEGER,
    "integer or text": {**_INTEGER, "type": ["integer", "string"]},
    "text": {"type": "string"},
}
_ANY: Final = "any"
_QUANTITY: Final = "quantity"


_MOST_UNKNOWN: Final = 100
"""Unknown fields of one mapping that are said: more help nobody, and the search for each one's nearest takes time."""


class Misfit(NamedTuple):
    """What is not as Kubernetes has it.

    Attributes:
        kind: "unknown" for a field that Kubernetes may have in a version to come, "misspelt" for one that is a slip of
            the pen from one that it has, "shape" for a value of another type.
    """

    path: Path
    kind: Literal["unknown", "misspelt", "shape"]
    message: str


def types() -> Mapping[str, Mapping[str, str]]:
    """The type of each field, by the name of the type that has it."""
    return _types()


@functools.cache
def _types() -> Mapping[str, Mapping[str, str]]:
    table: Mapping[str, Mapping[str, str]] = json.loads(schema_file.text(NAME))
    return table


def misfits(path: Path, value: Any, kind: str, text: Text) -> Iterator[Misfit]:
    """What a value, and all in it, has that a type of the table has not. Null, which removes a field, is no mistake.

    Args:
        path: of the value.
        value: as the job says it.
        kind: NAME, [TYPE] for a list, {TYPE} for a map, or a scalar's type.
        text: for what is quoted.
    """
    if value is None or kind == _ANY:
        return
    if kind.startswith("["):
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from misfits((*path, index), item, kind[1:-1], text)
        else:
            yield _shape(path, value, {"type": "array"}, text, _list_hint(path, value, kind[1:-1]))
    elif kind.startswith("{"):
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if not key.startswith("$"):
                    yield from misfits((*path, key), inner, kind[1:-1], text)
        else:
            yield _shape(path, value, {"type": "object"}, text)
    elif kind in (*_SCALARS, _QUANTITY):
        yield from _scalar(path, value, kind, text)
    elif isinstance(value, Mapping):
        yield from _record(path, value, kind, text)
    else:
        yield _shape(path, value, {"type": "object"}, text, _record_hint(value, kind))


def _record(path: Path, value: Mapping[str, Any], kind: str, text: Text) -> Iterator[Misfit]:
    fields = types()[kind] if value else {}  # most affinities are empty, and the table need not be read
    unknown = 0
    for key, inner in value.items():
        here = (*path, key)
        if key in fields:
            yield from misfits(here, inner, fields[key], text)
        elif not key.startswith("$"):
            near = _misspelt(key, kind)
            unknown += near is None
            message = f"unknown field {shown(key)} in {path_name(path)}" if unknown <= _MOST_UNKNOWN or near else ""
            if near:
                yield Misfit(here, "misspelt", message + meant(near))
            elif message:
                yield Misfit(here, "unknown", f"{message} (Kubernetes' {kind}){meant(nearest(key, fields))}")


def is_misspelt(name: str, kind: str) -> bool:
    """Whether a type has no such field, and one that was surely meant."""
    return name not in types()[kind] and _misspelt(name, kind) is not None


def misspelt(name: str, known: Collection[str]) -> str | None:
    """The field from which a name is one slip: a letter too many, too few, or wrong, two that changed places, case.

    No two fields of a type are as near to each other, nor is any that Kubernetes added since 1.26 to an earlier one.
    """
    return next((field for field in known if _is_slip(name.lower(), field.lower())), None)


@functools.lru_cache(maxsize=1 << 16)  # a name is asked about for each role, rule and environment
def _misspelt(name: str, kind: str) -> str | None:
    return misspelt(name, types()[kind])


def _is_slip(name: str, field: str) -> bool:
    if abs(len(name) - len(field)) > 1:
        return False
    short, long = sorted((name, field), key=len)
    same = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    a, b = short[same:], long[same:]
    if len(a) != len(b):
        return a == b[1:]
    return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _scalar(path: Path, value: Any, kind: str, text: Text) -> Iterator[Misfit]:
    node = schema_file.target(schema_file.load(), "#/definitions/quantity") if kind == _QUANTITY else _SCALARS[kind]
    types = {"boolean": bool, "integer": int, "string": str}
    allowed = tuple(types[each] for each in ([node["type"]] if isinstance(node["type"], str) else node["type"]))
    if isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool)):
        if kind == _QUANTITY and isinstance(value, str) and not re.fullmatch(node["pattern"], value):
            message = f"{path_name(path)}: found {shown(value)}, expected {expected(node)}"
            yield Misfit(path, "shape", message)
        return
    yield _shape(path, value, node, text)


def _shape(path: Path, value: Any, node: Schema, text: Text, instead: str = "") -> Misfit:
    written = "" if isinstance(value, (Mapping, list)) else text(path)
    message = f"{path_name(path)}: found {found_words(value, written)}, expected {expected(node)}"
    return Misfit(path, "shape", message + (instead or hint_for_value(value, written, node)))


def _list_hint(path: Path, value: Any, kind: str) -> str:
    """How the same, or anything, is written as a list."""
    key = MERGE_KEYS.get(str(path[-1]), "")
    if isinstance(value, Mapping) and value and value.keys() <= types().get(kind, {}).keys():
        items = as_items(value, next(iter(value)))
    else:
        items = as_items(value, key) if key or kind == "text" else ""
    if items:
        return f"; write {items}"
    return f" such as {flow([{key: '...'}])}" if key else ""


def _record_hint(value: Any, kind: str) -> str:
    """`{name: hub}` for `hub`, where that is a name."""
    return f"; write {flow({'name': value})}" if isinstance(value, str) and "name" in types()[kind] else ""

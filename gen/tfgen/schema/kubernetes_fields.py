"""Checks the keys of a job whose values are fields of Kubernetes, such as `podTemplate`, against Kubernetes types.

    misfits(("sidecars", 0), {"name": "metrics", "envs": []}, "Container", text)
        -> Misfit(("sidecars", 0, "envs"), "misspelt", 'unknown field "envs" in sidecars[0]; did you mean "env"?')

The table `schemas/kubernetes.fields.json` lists the types of a pod template and of the stable kinds that users write.
For each type the table has the fields of all supported versions of Kubernetes, the fields that every version requires,
and the keys that identify the items of a list. `tests/schema/test_kubernetes_fields.py` writes the table.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tfgen.data_path import MAX_INTEGER, Path
from tfgen.fix import NO_HINT, Fix, Hint, Rename, meant
from tfgen.kubernetes.merge import MERGE_KEYS
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema
from tfgen.schema.hints import as_items, expected, flow, json_types, write
from tfgen.schema.messages import found_words, hint_for_value
from tfgen.words import nearest, path_name, shown

NAME: Final = "kubernetes.fields.json"
"""The file name of the table of types."""

WrittenText: TypeAlias = Callable[[Path], str]
"""Type of a function that returns the text of the scalar at a path in the file."""

_INTEGER: Final[Schema] = {"type": "integer", "minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
_SCALARS: Final[Mapping[str, Schema]] = {
    "boolean": {"type": "boolean"},
    "integer": _INTEGER,
    "integer or text": {**_INTEGER, "type": ["integer", "string"]},
    "text": {"type": "string"},
}
_ANY: Final = "any"
_QUANTITY: Final = "quantity"


_MOST_UNKNOWN: Final = 100
"""Maximum number of unknown fields that are reported for one mapping, because each search for a hint takes time."""


class Misfit(NamedTuple):
    """A value that does not match its Kubernetes type.

    Attributes:
        mistake: "unknown" for a field that a later Kubernetes may have, "misspelt" for a typing error in the name of a
            field, "shape" for a value of a wrong type or without a required field.
    """

    path: Path
    mistake: Literal["unknown", "misspelt", "shape"]
    message: str
    fixes: tuple[Fix, ...] = ()


class KeyedList(NamedTuple):
    """A list in which Kubernetes treats two items with equal keys as one item. An example is a list of containers.

    Attributes:
        owner: the mapping that contains the list.
        keys: the key fields of an item, such as `name`; empty if the whole item is the key.
    """

    path: Path
    owner: Mapping[str, Any]
    items: Sequence[Any]
    keys: Sequence[str]


class FieldTypes(NamedTuple):
    """A type in the table of types, such as `Container`.

    Attributes:
        fields: the type of each field, as in ``{"image": "text", "ports": "[ContainerPort]"}``. Brackets mean a list.
        required: the names of the required fields.
        keys: the keys that identify the items of a list field, as in ``{"ports": ["containerPort", "protocol"]}``. A
            merge uses only the first key.
    """

    fields: Mapping[str, str]
    required: Sequence[str]
    keys: Mapping[str, Sequence[str]]


@functools.cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    table: Mapping[str, Mapping[str, Any]] = json.loads(schema_file.text(NAME))
    return table


@functools.cache
def types() -> Mapping[str, FieldTypes]:
    """Return the types in the table by name, as in ``{"Container": FieldTypes(...), ...}``."""
    return {name: FieldTypes(**fields) for name, fields in _table()["types"].items()}


def type_of_kind(api_version: str, kind: str) -> str | None:
    """Return the name of the type of a kind; None for a kind outside the table.

    >>> type_of_kind("autoscaling/v2", "HorizontalPodAutoscaler"), type_of_kind("example.com/v1", "Widget")
    ('v2.HorizontalPodAutoscaler', None)
    """
    name: str | None = _table()["kinds"].get(api_version, {}).get(kind)
    return name


def keyed_lists(path: Path, value: Any, type_name: str) -> Iterator[KeyedList]:
    """Yield the lists, at any depth of a value, whose items Kubernetes identifies by keys such as `name`.

    Args:
        path: the path of the value.
        value: the value in the job. Nested values with a wrong type are ignored.
        type_name: the type of the value, such as `Container`, or `[Container]` for a list of containers.
    """
    if type_name.startswith("["):
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from keyed_lists((*path, index), item, type_name[1:-1])
    elif type_name in types() and isinstance(value, Mapping):
        fields, _, keys = types()[type_name]
        for field in value.keys() & fields.keys():
            field_path = (*path, field)
            if field in keys and isinstance(value[field], list):
                yield KeyedList(field_path, value, value[field], keys[field])
            yield from keyed_lists(field_path, value[field], fields[field])


def misfits(path: Path, value: Any, type_name: str, text: WrittenText, base: Any = None) -> Iterator[Misfit]:
    """Yield a misfit for each nested value that does not match its type, and for each missing required field.

    Null, which removes a field, is allowed for optional fields.

    Args:
        path: the path of the value.
        value: the value in the job.
        type_name: the type of the value: `Container`, `[Container]` for a list, `{text}` for a map of texts, or the
            name of a scalar type, such as `quantity`.
        text: function that returns the text of the scalar at a path in the file.
        base: the value of the same field in the object that tfgen generates. tfgen merges `value` into `base`, so
            `value` may omit the required fields that `base` has. None means that the generated object does not have the
            field. `...` means that tfgen does not know the generated object, so no required field is missing.
    """
    if value is None:
        return
    if type_name == _ANY:
        yield from _untyped(path, value, text)
    elif type_name.startswith("["):
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from misfits((*path, index), item, type_name[1:-1], text)
        else:
            yield _shape(path, value, {"type": "array"}, text, _list_hint(path, value, type_name[1:-1]))
    elif type_name.startswith("{"):
        if isinstance(value, Mapping):
            for key, item in value.items():
                if not key.startswith("$"):
                    yield from misfits((*path, key), item, type_name[1:-1], text)
        else:
            yield _shape(path, value, {"type": "object"}, text)
    elif type_name in (*_SCALARS, _QUANTITY):
        yield from _scalar(path, value, type_name, text)
    elif isinstance(value, Mapping):
        yield from _record(path, value, type_name, text, base)
    else:
        has_name = isinstance(value, str) and "name" in types()[type_name].fields
        hint = write(path, flow({"name": value})) if has_name else NO_HINT  # {name: hub} instead of hub
        yield _shape(path, value, {"type": "object"}, text, hint)


def _record(path: Path, value: Mapping[str, Any], type_name: str, text: WrittenText, base: Any) -> Iterator[Misfit]:
    fields, required, keys = types()[type_name]
    unknown_count = 0
    for key, item in value.items():
        field_path = (*path, key)
        default = base.get(key) if isinstance(base, Mapping) else base
        if key in keys and keys[key] and isinstance(item, list):
            yield from _keyed(field_path, item, fields[key][1:-1], keys[key][0], text, default)
        elif key in fields:
            yield from misfits(field_path, item, fields[key], text, default)
        elif key.startswith("$"):
            yield _directive(field_path)
        else:
            near = _misspelt(key, type_name)
            unknown_count += near is None
            if near:
                hint = meant(near, Rename(field_path, near))
                yield Misfit(field_path, "misspelt", f"{_unknown_field(path, key)}{hint.text}", hint.fixes)
            elif unknown_count <= _MOST_UNKNOWN:
                near = nearest(key, fields)
                hint = meant(near, Rename(field_path, near or key), written=key)
                message = f"{_unknown_field(path, key)} (Kubernetes type {type_name}){hint.text}"
                yield Misfit(field_path, "unknown", message, hint.fixes)
            if key in MERGE_KEYS or isinstance(item, Mapping):
                yield from _untyped(path, {key: item}, text)
    if base is not None and not isinstance(base, Mapping):
        return
    missing = [field for field in required if (value[field] is None if field in value else field not in (base or ()))]
    misspelt_fields = {_misspelt(key, type_name) for key in value if key not in fields} if missing else ()
    for field in missing:
        if field not in misspelt_fields:
            message = f"{path_name(path)}: found no {field}, which the Kubernetes type {type_name} requires"
            yield Misfit(path, "shape", message)


def _unknown_field(path: Path, key: str) -> str:
    return f"unknown field {shown(key)} in {path_name(path)}"


def _untyped(path: Path, value: Any, text: WrittenText) -> Iterator[Misfit]:
    """Yield the misfits in a value whose Kubernetes type is unknown, such as the value of an unknown field.

    A misfit is a wrong directive such as `$patch: replace`, a mapping or a scalar in place of a list such as
    `containers`, or an item without its merge key, such as a container without a name.
    """
    for key, item in value.items() if isinstance(value, Mapping) else ():
        item_path = (*path, key)
        if key.startswith("$"):
            yield _directive(item_path)
        elif key not in MERGE_KEYS or item is None:
            yield from _untyped(item_path, item, text)
        elif isinstance(item, list):
            yield from _keyed(item_path, item, _ANY, MERGE_KEYS[key], text, None)
        else:
            yield _shape(item_path, item, {"type": "array"}, text, _list_hint(item_path, item, _ANY))


def _keyed(
    path: Path, items: Sequence[Any], type_name: str, key: str, text: WrittenText, base: Any
) -> Iterator[Misfit]:
    """Yield the misfits in the items of a list that Kubernetes merges by the field `key` of the items."""
    for index, item in enumerate(items):
        item_path = (*path, index)
        name = item.get(key) if isinstance(item, Mapping) else item
        if name is None or (type_name == _ANY and (name is item or isinstance(name, (Mapping, list)))):
            written = "" if isinstance(item, (Mapping, list)) else text(item_path)
            requirement = f"an item with the key {key}, as in {{{key}: ...}}"
            message = f"{path_name(item_path)}: found {found_words(item, written)}, expected {requirement}"
            yield Misfit(item_path, "shape", message)
        elif name is item or item.get("$patch") != "delete" or path[-1] not in MERGE_KEYS:
            yield from misfits(item_path, item, type_name, text, _item_with_key(base, key, name))


def _directive(path: Path) -> Misfit:
    return Misfit(
        path, "shape", f"{path_name(path)}: the only allowed directive is $patch: delete, in an item of a list"
    )


def _item_with_key(items: Any, key: str, name: Any) -> Any:
    """Return the item of the list `items` whose field `key` has the value `name`; None without such an item.

    If `items` is not a list, return `items`. For example, `items` is None or `...` if the argument `base` of `misfits`
    is None or `...`.
    """
    if items is None or not isinstance(items, (list, tuple)):
        return items
    return next((item for item in items if isinstance(item, Mapping) and item.get(key) == name), None)


def is_misspelt(name: str, type_name: str) -> bool:
    """Test whether `name` is a misspelt name of a field of the type `type_name`."""
    return name not in types()[type_name].fields and _misspelt(name, type_name) is not None


def misspelt(name: str, fields: Collection[str]) -> str | None:
    """Return the field in `fields` that differs from `name` by one typing error; None without such a field.

    A typing error is an extra, a missing or a wrong letter, two swapped letters, or the wrong case. Within a Kubernetes
    type, two field names differ by more than one typing error, except clusterIP and clusterIPs of a Service.
    """
    lowered = name.lower()
    size = len(lowered)
    near = sorted((field for field in fields if abs(size - len(field)) <= 1), key=len)
    return next((field for field in near if _is_slip(lowered, field.lower())), None)


@functools.lru_cache(maxsize=1 << 16)  # cached, because each role, rule and environment looks up the same names
def _misspelt(name: str, type_name: str) -> str | None:
    return misspelt(name, types()[type_name].fields)


def _is_slip(name: str, field: str) -> bool:
    """Test whether two lower-case names differ by one typing error, such as a missing letter."""
    short, long = sorted((name, field), key=len)
    common = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    a, b = short[common:], long[common:]
    if len(a) != len(b):
        return a == b[1:]
    return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _scalar(path: Path, value: Any, type_name: str, text: WrittenText) -> Iterator[Misfit]:
    node: Schema = schema_file.load()["definitions"]["quantity"] if type_name == _QUANTITY else _SCALARS[type_name]
    types = {"boolean": (bool,), "integer": (int,), "number": (int, float), "string": (str,)}
    allowed = tuple(kind for name in json_types(node) for kind in types[name])
    if isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool)):
        if type_name == _QUANTITY and isinstance(value, str) and not re.fullmatch(node["pattern"], value):
            message = f"{path_name(path)}: found {shown(value)}, expected {expected(node)}"
            yield Misfit(path, "shape", message)
        return
    yield _shape(path, value, node, text)


def _shape(path: Path, value: Any, node: Schema, text: WrittenText, instead: Hint = NO_HINT) -> Misfit:
    written = "" if isinstance(value, (Mapping, list)) else text(path)
    message = f"{path_name(path)}: found {found_words(value, written)}, expected {expected(node)}"
    hint = instead or hint_for_value(path, value, written, node)
    return Misfit(path, "shape", f"{message}{hint.text}", hint.fixes)


def _list_hint(path: Path, value: Any, type_name: str) -> Hint:
    """Return the end of a message that a value should be a list, such as `; write [{name: hub}]`, or an empty text."""
    fields = types()[type_name].fields if type_name in types() else {}
    key = MERGE_KEYS.get(str(path[-1]), "")
    if fields and key not in fields:
        key = ""  # fields of a pod and of another kind may have the same name, such as `ports`
    if isinstance(value, Mapping) and value and value.keys() <= fields.keys():
        items = as_items(value, next(iter(value)))
    else:
        items = as_items(value, key) if key or type_name == "text" else ""
    if items:
        return write(path, items)
    return Hint(f" such as {flow([{key: '...'}])}") if key else NO_HINT

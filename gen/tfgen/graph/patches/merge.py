"""A merge over an object with holes: what `kubernetes.merge` does to plain objects, done before the holes are filled.

    {"replicas": hole, "updateStrategy": {"type": "OnDelete"}}  and  {"minReadySeconds": 10}
        ->  {"replicas": hole, "updateStrategy": {"type": "OnDelete"}, "minReadySeconds": 10}

The law: filled, the merged node is what the filled node would be with the patch merged over it. So a patch goes into
both branches of a condition, and what is new is added where a branch has nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from tfgen.data_path import Path
from tfgen.graph.holes import ABSENT, Absent, Call, Hole, Key, Named, Node, Not, When
from tfgen.graph.patches.field import Fault, Field, RefusedError, open_mapping, splices, without
from tfgen.kubernetes.merge import Dialect

_DIRECTIVE: Final = "$patch"
_DELETE: Final = "delete"

_Part = TypeVar("_Part")


class Merger:
    """Merges one patch, and collects what cannot be merged."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.faults: dict[Fault, None] = {}

    def merge(self, under: Node, patch: Mapping[str, Any], path: Path, field: Field) -> Node:
        """A node with a mapping merged over it.

        Args:
            under: what stands there.
            patch: what is merged over it.
            path: the patch's in the job.
            field: what the patch meets.
        """
        match under:
            case Absent():
                return _new(patch)
            case When(test, then, otherwise):
                return When(test, self.merge(then, patch, path, field), self.merge(otherwise, patch, path, field))
            case Named(parameters=(), node=dict()):
                return self._entries(under, patch, path, field)
            case dict():
                return self._entries(under, patch, path, field)
        replaced: Node = self._attempt(under, path, lambda: self._replaced(under, _new(patch), field))
        return replaced

    def _entries(self, under: Node, patch: Mapping[str, Any], path: Path, field: Field) -> Node:
        merged = under
        for key, value in patch.items():
            inner = field.inside(key)
            merged = self._attempt(
                merged,
                (*path, key),
                lambda: self._entry(merged, key, value, (*path, key), inner),  # noqa: B023
            )
        return merged

    def _entry(self, under: Node, key: str, value: Any, path: Path, field: Field) -> Node:
        """A mapping with one entry merged over its own."""
        field.check_owner()
        if key.startswith("$"):
            raise RefusedError(
                f"found the directive {key}; of these a patch knows {_DIRECTIVE}: {_DELETE}, in a list's item"
            )
        mapping = open_mapping(under, key)
        if not isinstance(mapping, dict):
            raise TypeError(f"no mapping: {mapping!r}")
        if key not in mapping:
            for spliced in splices(mapping):
                field.refuse_values(spliced)
        there = mapping.get(key, ABSENT)
        if value is None:
            field.check_replaceable(there)
            return without(mapping, key)
        if isinstance(value, Mapping):
            merged = self.merge(there, value, path, field)
        elif key in self.dialect.keys and isinstance(value, list):
            merged = self._items(there, value, self.dialect.keys[key][0], path, field)
        else:
            merged = self._replaced(there, value, field)
        kept: Mapping[Key, Node] = (
            mapping if isinstance(there, (dict, When)) else without(mapping, key, comment_alone=True)
        )
        return {**kept, key: merged}

    def _items(self, under: Node, patches: Sequence[Any], name: str, path: Path, field: Field) -> Node:
        """A list with items merged over its own, told apart by a key of each."""
        match under:
            case When(test, then, otherwise):
                branches = [self._items(branch, patches, name, path, field) for branch in (then, otherwise)]
                return When(test, *branches)
            case Absent():
                items: list[Node] = []
            case list() | tuple():
                items = list(under)
            case _:
                field.refuse_values(under)
        for index, patch in enumerate(patches):
            items = self._attempt(
                items,
                (*path, index),
                lambda: self._item(items, patch, name, (*path, index), field),  # noqa: B023
            )
        return items

    def _item(self, items: list[Node], patch: Any, name: str, path: Path, field: Field) -> list[Node]:
        if not isinstance(patch, Mapping) or name not in patch:
            raise RefusedError(f"an item of {field.name} needs its {name}, by which it is merged")
        own = patch[name]
        inner = field.inside(str(own))
        place = next((place for place, item in enumerate(items) if _named(item, name) == own), None)
        if _DIRECTIVE in patch:
            if patch[_DIRECTIVE] != _DELETE:
                raise RefusedError(
                    f"found {_DIRECTIVE}: {patch[_DIRECTIVE]}; a patch knows {_DELETE}, in a list's item"
                )
            if place is None:
                return items
            inner.check_replaceable(items[place])
            return [*items[:place], *items[place + 1 :]]
        if place is None:
            return [*items, _first(_new(patch), name)]
        match items[place]:
            case When(test, then):
                merged: Node = When(test, self.merge(then, patch, path, inner))
                return [*items[:place], merged, *items[place + 1 :], When(Not(test), _first(_new(patch), name))]
            case item:
                return [*items[:place], self.merge(item, patch, path, inner), *items[place + 1 :]]

    def _replaced(self, there: Node, value: Any, field: Field) -> Node:
        field.check_replaceable(there)
        replaced: Node = value
        return replaced

    def _attempt(self, under: Any, path: Path, change: Callable[[], _Part]) -> _Part:
        """What a change leads to; what was there, where it cannot be."""
        try:
            return change()
        except RefusedError as refusal:
            self.faults[Fault(path, str(refusal))] = None
            unchanged: _Part = under
            return unchanged


def _new(patch: Mapping[str, Any]) -> dict[Key, Node]:
    """What a patch says where there is nothing: nulls and directives are of no use."""
    kept = {key: value for key, value in patch.items() if value is not None and not key.startswith("$")}
    return {key: _new(value) if isinstance(value, Mapping) else value for key, value in kept.items()}


def _first(item: dict[Key, Node], name: str) -> dict[Key, Node]:
    """A list's item that begins with its name."""
    return {name: item[name], **item}


def _named(item: Node, name: str) -> Node:
    """What tells an item from the others of its list; absent for what values alone make."""
    if isinstance(item, When) and item.otherwise is ABSENT:
        item = item.then
    own = item.get(name, ABSENT) if isinstance(item, dict) else ABSENT
    return ABSENT if isinstance(own, (Hole, Call)) else own

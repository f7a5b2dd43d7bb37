"""A merge over an object with holes: what `kubernetes.merge` does to plain objects, done before the holes are filled.

    {"replicas": hole, "updateStrategy": {"type": "OnDelete"}}  and  {"minReadySeconds": 10}
        ->  {"replicas": hole, "updateStrategy": {"type": "OnDelete"}, "minReadySeconds": 10}

The law: filled, the merged node is what the filled node would be with the patch merged over it. So a patch goes into
both branches of a condition, and what is new is added where a branch has nothing. Which items of lists meet,
`kubernetes.merge.pair` says for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from tfgen.data_path import Path
from tfgen.graph.holes import ABSENT, Absent, Key, Named, Node, Not, When
from tfgen.graph.patches.field import Fault, Field, RefusedError, open_mapping, splices, without
from tfgen.kubernetes.merge import Dialect, pair, removes

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
                return self._entries({}, patch, path, field)
            case When(test, if_true, if_false):
                return When(test, self.merge(if_true, patch, path, field), self.merge(if_false, patch, path, field))
            case Named(parameters=(), node=dict()):
                return self._entries(under, patch, path, field)
            case dict():
                return self._entries(under, patch, path, field)
        return self._attempt(under, path, lambda: self._replaced(under, self._entries({}, patch, path, field), field))

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
            merged = self._items(there, value, path, field)
        else:
            merged = self._replaced(there, value, field)
        kept: Mapping[Key, Node] = (
            mapping if isinstance(there, (dict, When)) else without(mapping, key, comment_alone=True)
        )
        return {**kept, key: merged}

    def _items(self, under: Node, patches: Sequence[Any], path: Path, field: Field) -> Node:
        """A list with items merged over its own, told apart by a key of each."""
        match under:
            case When(test, if_true, if_false):
                return When(test, *(self._items(branch, patches, path, field) for branch in (if_true, if_false)))
            case Absent():
                items: list[Node] = []
            case list() | tuple():
                items = list(under)
            case _:
                field.refuse_values(under)
        list_name = str(field.path[-1])
        name = self.dialect.keys[list_name][0]
        sound = {
            index: patch
            for index, patch in enumerate(patches)
            if self._attempt(None, (*path, index), lambda: _sound_item(patch, name, field))  # noqa: B023
        }
        kept = dict(enumerate(items))
        new: list[Node] = []
        pairs = pair([_item_of(item) for item in items], [*sound.values()], list_name, self.dialect)
        for (index, patch), places in zip(sound.items(), pairs, strict=True):
            here, inner = (*path, index), field.inside(str(patch[name]))
            if removes(patch):
                for place in places:
                    if self._attempt(False, here, lambda: _is_removable(kept[place], inner)):  # noqa: B023
                        del kept[place]
            elif not places:
                new.append(self._new_item(patch, name, here, inner))
            elif isinstance(item := kept[places[0]], When):
                kept[places[0]] = When(item.test, self.merge(item.if_true, patch, here, inner))
                new.append(When(Not(item.test), self._new_item(patch, name, here, inner)))
            else:
                kept[places[0]] = self.merge(item, patch, here, inner)
        return [*kept.values(), *new]

    def _new_item(self, patch: Mapping[str, Any], name: str, path: Path, field: Field) -> Node:
        """An item that begins with its name."""
        return self._entries({}, {name: patch[name], **patch}, path, field)

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


def _sound_item(patch: Any, name: str, field: Field) -> Mapping[str, Any]:
    """An item of a patch that can be merged by its name.

    Raises:
        RefusedError: it has none, or a directive that is not known.
    """
    if not isinstance(patch, Mapping) or name not in patch:
        raise RefusedError(f"an item of {field.name} needs its {name}, by which it is merged")
    if _DIRECTIVE in patch and not removes(patch):
        raise RefusedError(f"found {_DIRECTIVE}: {patch[_DIRECTIVE]}; a patch knows {_DELETE}, in a list's item")
    return patch


def _is_removable(item: Node, field: Field) -> bool:
    field.check_replaceable(item)
    return True


def _item_of(item: Node) -> Node:
    """An item of a list, also where a condition decides on it."""
    return item.if_true if isinstance(item, When) and item.if_false is ABSENT else item

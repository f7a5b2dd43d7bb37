"""The application of a merge patch to an object with holes, as `kubernetes.merge` applies it to a plain object.

For example, {"minReadySeconds": 10} merged over {"replicas": hole} is {"replicas": hole, "minReadySeconds": 10}.

A merge and then a fill must give the same object as a fill and then a merge. So a patch of `When(test, a, b)` changes
both `a` and `b`. If `a` or `b` is `ABSENT`, the content of the patch replaces `ABSENT`. `kubernetes.merge.pair` pairs
the items of lists for plain objects and for objects with holes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from tfgen.data_path import Path
from tfgen.graph.holes import ABSENT, Absent, Key, NamedTemplate, Node, Not, When
from tfgen.graph.patches.field import Fault, Field, RefusedError, open_mapping, splices, without_comments, without_entry
from tfgen.kubernetes.merge import Dialect, pair, removes

_DIRECTIVE: Final = "$patch"
_DELETE: Final = "delete"

_Part = TypeVar("_Part")


class Merger:
    """The merge of a single patch. The attribute `faults` contains a `Fault` for each part that cannot be merged."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.faults: dict[Fault, None] = {}

    def merge(self, base: Node, patch: Mapping[str, Any], path: Path, field: Field) -> Node:
        """Merge a mapping of the patch over a node, and return the merged node.

        Args:
            base: the node.
            patch: the mapping.
            path: the path of the mapping in the spec of the job.
            field: the field of the object that contains the node.
        """
        match base:
            case Absent():
                return self._entries({}, patch, path, field)
            case When(test, if_true, if_false):
                return When(test, self.merge(if_true, patch, path, field), self.merge(if_false, patch, path, field))
            case NamedTemplate(parameters=(), node=dict()):
                return self._entries(base, patch, path, field)
            case dict():
                return self._entries(base, patch, path, field)
        return self._attempt(base, path, lambda: self._replaced(base, self._entries({}, patch, path, field), field))

    def _entries(self, base: Node, patch: Mapping[str, Any], path: Path, field: Field) -> Node:
        merged = base
        for key, value in patch.items():
            child_field = field.child(key)
            merged = self._attempt(
                merged,
                (*path, key),
                lambda: self._entry(merged, key, value, (*path, key), child_field),  # noqa: B023
            )
        return merged

    def _entry(self, base: Node, key: str, value: Any, path: Path, field: Field) -> Node:
        """Merge the entry `key: value` of the patch over a mapping, and return the merged mapping."""
        field.check_changeable()
        if key.startswith("$"):
            raise RefusedError(
                f"found the directive {key}; the only allowed directive is {_DIRECTIVE}: {_DELETE} in an item of a list"
            )
        mapping = open_mapping(base, key)
        if not isinstance(mapping, dict):
            raise TypeError(f"not a mapping: {mapping!r}")
        if key not in mapping:
            for spliced in splices(mapping):
                field.refuse_values(spliced)
        current = mapping.get(key, ABSENT)
        if value is None:
            field.check_replaceable(current)
            return without_entry(mapping, key)
        if isinstance(value, Mapping):
            merged = self.merge(current, value, path, field)
        elif key in self.dialect.keys and isinstance(value, list):
            merged = self._items(current, value, path, field)
        else:
            merged = self._replaced(current, value, field)
        # The comment above a replaced value does not apply to the new value.
        entries: Mapping[Key, Node] = mapping if isinstance(current, (dict, When)) else without_comments(mapping, key)
        return {**entries, key: merged}

    def _items(self, base: Node, patches: Sequence[Any], path: Path, field: Field) -> Node:
        """Merge each item of `patches` over the item of `base` with the same name, and return the merged list."""
        match base:
            case When(test, if_true, if_false):
                return When(test, *(self._items(branch, patches, path, field) for branch in (if_true, if_false)))
            case Absent():
                items: list[Node] = []
            case list() | tuple():
                items = list(base)
            case _:
                field.refuse_values(base)
        list_name = str(field.path[-1])
        name = self.dialect.keys[list_name][0]
        valid = {
            index: patch
            for index, patch in enumerate(patches)
            if self._attempt(None, (*path, index), lambda: _valid_item(patch, name, field))  # noqa: B023
        }
        merged = dict(enumerate(items))
        new: list[Node] = []
        pairs = pair([_item_of(item) for item in items], [*valid.values()], list_name, self.dialect)
        for (index, patch), matches in zip(valid.items(), pairs, strict=True):
            item_path, item_field = (*path, index), field.child(str(patch[name]))
            if removes(patch):
                for match in matches:
                    if self._attempt(False, item_path, lambda: _is_removable(merged[match], item_field)):  # noqa: B023
                        del merged[match]
            elif not matches:
                new.append(self._new_item(patch, name, item_path, item_field))
            elif isinstance(item := merged[matches[0]], When):
                # The plain list lacks an item whose test is false, and a merge would then append a new item.
                merged[matches[0]] = When(item.test, self.merge(item.if_true, patch, item_path, item_field))
                new.append(When(Not(item.test), self._new_item(patch, name, item_path, item_field)))
            else:
                merged[matches[0]] = self.merge(item, patch, item_path, item_field)
        return [*merged.values(), *new]

    def _new_item(self, patch: Mapping[str, Any], name: str, path: Path, field: Field) -> Node:
        """Return an item that the patch adds to a list. The first key of the item is the merge key `name`."""
        return self._entries({}, {name: patch[name], **patch}, path, field)

    def _replaced(self, current: Node, value: Any, field: Field) -> Node:
        field.check_replaceable(current)
        replaced: Node = value
        return replaced

    def _attempt(self, base: Any, path: Path, change: Callable[[], _Part]) -> _Part:
        """Return the result of `change()`. If the call raises RefusedError, add a fault at `path` and return `base`."""
        try:
            return change()
        except RefusedError as refusal:
            self.faults[Fault(path, str(refusal))] = None
            unchanged: _Part = base
            return unchanged


def _valid_item(patch: Any, name: str, field: Field) -> Mapping[str, Any]:
    """Check `patch`, an item in a list of a merge patch, and return the item unchanged.

    Args:
        patch: the item.
        name: the key by which items of the list are merged, such as `name` or `containerPort`.
        field: the list in the object.

    Raises:
        RefusedError: the item is not a mapping, lacks the key, or has an unsupported directive.
    """
    if not isinstance(patch, Mapping) or name not in patch:
        raise RefusedError(f"an item of {field.name} has no {name}, by which items are merged; add {name}")
    if _DIRECTIVE in patch and not removes(patch):
        raise RefusedError(
            f"found {_DIRECTIVE}: {patch[_DIRECTIVE]}; the only allowed directive is {_DIRECTIVE}: {_DELETE}"
        )
    return patch


def _is_removable(item: Node, field: Field) -> bool:
    field.check_replaceable(item)
    return True


def _item_of(item: Node) -> Node:
    """Return the item inside a condition (`When`), or the item itself if no condition surrounds the item."""
    return item.if_true if isinstance(item, When) and item.if_false is ABSENT else item

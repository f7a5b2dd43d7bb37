"""The difference of two pieces of plain data, field by field. Merge keys identify list items.

field_changes({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}]})
  ->  (FieldChange("env[A].value", "1", "2"),)

The kind of an object decides on the keys: the ports of a Service have the key `port`, of a container `containerPort`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.kubernetes.merge_keys import TOLD_APART, kustomize_keys
from tfgen.record import Record
from tfgen.words import shown


class Nothing:
    """The type of `NOTHING`, the value of a field that does not exist."""

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "NOTHING"  # unpickled, the same object in each process


NOTHING: Final = Nothing()


def in_words(was: Any, now: Any, longest: int) -> str:
    """Return the words for a change in a message. A value has at most `longest` characters.

    >>> in_words(4, 8, 60), in_words(NOTHING, 8, 60)
    ('was 4 and is 8', 'is new')
    """
    if was is NOTHING or now is NOTHING:
        return "is new" if was is NOTHING else "was removed"
    if isinstance(was, (Mapping, list)) or isinstance(now, (Mapping, list)):
        return "changed"
    return f"was {shown(was, longest)} and is {shown(now, longest)}"


class Item(Record):
    """A step into a list, to the item with these merge keys, such as `("tensorflow",)` of containers."""

    keys: tuple[Any, ...]


class Order(Record):
    """A step into a list, to the order of the items, for a list whose remaining items change their order."""


Step: TypeAlias = str | Item | Order

_Keys: TypeAlias = Mapping[str, Sequence[str]]
"""Merge keys of the items, by the name of the list."""


class FieldPath(Record):
    """Path of a field. `str` returns the usual notation: `spec.template.spec.containers[tensorflow].image`."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        text = ""
        for step in self.steps:
            match step:
                case Item(keys=keys):
                    text += f"[{','.join(map(str, keys))}]"
                case Order():
                    text += " (order)"
                case _ if "." in step or "/" in step:
                    text += f"[{json.dumps(step)}]"
                case _:
                    text += f".{step}"
        return text.removeprefix(".")


class FieldChange(Record):
    """A changed field with the old value and the new value; `NOTHING` for a missing field."""

    path: FieldPath
    before: Any
    after: Any


def field_changes(before: Any, after: Any) -> tuple[FieldChange, ...]:
    """Return the changed fields in the order of the new data. Removed fields follow the fields of their mapping."""
    kinds = (data.get("kind") for data in (after, before) if isinstance(data, Mapping))
    kind = next((kind for kind in kinds if isinstance(kind, str)), "")
    return tuple(_changes(before, after, (), kustomize_keys(kind)))


def _changes(before: Any, after: Any, steps: tuple[Step, ...], keys: _Keys) -> Iterator[FieldChange]:
    if _are_equal(before, after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*after, *(key for key in before if key not in after)]:
            yield from _changes(before.get(key, NOTHING), after.get(key, NOTHING), (*steps, key), keys)
        return
    pair = _by_keys_of_both(before, after, steps, keys)
    if pair is None:
        yield FieldChange(FieldPath(steps), before, after)
        return
    was, now = pair
    for item in [*now, *(item for item in was if item not in now)]:
        yield from _changes(was.get(item, NOTHING), now.get(item, NOTHING), (*steps, item), keys)
    if [item for item in was if item in now] != [item for item in now if item in was]:
        path = FieldPath((*steps, Order()))
        yield FieldChange(path, [list(item.keys) for item in was], [list(item.keys) for item in now])


def _by_keys_of_both(
    before: Any, after: Any, steps: tuple[Step, ...], keys: _Keys
) -> tuple[Mapping[Item, Any], Mapping[Item, Any]] | None:
    """Return the items of two lists by the fewest keys that are unique in each list; None without unique keys."""
    field = steps[-1] if steps else None
    if not isinstance(field, str) or field not in keys:
        return None
    names = tuple(keys[field])
    further = TOLD_APART[field][:1] if field in TOLD_APART else ()
    for extra_keys in ((), further):
        was, now = _by_keys(before, names, extra_keys), _by_keys(after, names, extra_keys)
        if was is not None and now is not None:
            return was, now
    return None


def _are_equal(before: Any, after: Any) -> bool:
    """Test whether two values are equal for Kubernetes. In Python, true also equals 1 and 1.0."""
    if before is NOTHING or after is NOTHING:
        return before is after
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


def _by_keys(items: Any, names: Sequence[str], further: Sequence[str]) -> dict[Item, Any] | None:
    """Return the items of a list by merge keys and further keys; None for a missing merge key or equal keys."""
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        return None
    # The absence of a key identifies an item as well, but an item without any key has no identity.
    by_keys = {Item(tuple(item[name] for name in (*names, *further) if name in item)): item for item in items}
    has_keys = not any(item.keys().isdisjoint(names) for item in items)
    return by_keys if len(by_keys) == len(items) and has_keys else None

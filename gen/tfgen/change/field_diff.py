"""The difference of two pieces of plain data, field by field; list items are told apart by their merge keys.

field_changes({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}]})
  ->  (FieldChange("env[A].value", "1", "2"),)

By which keys, the kind of an object says: a Service's ports go by `port`, a container's by `containerPort`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.kubernetes.merge_keys import TOLD_APART, kustomize_keys
from tfgen.record import Record
from tfgen.words import shown


class Nothing:
    """The type of `NOTHING`, which stands for what is not there."""

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "NOTHING"  # the one that there is, in another process too


NOTHING: Final = Nothing()


def in_words(was: Any, now: Any, longest: int) -> str:
    """A change as a message has it; of a scalar with both values, cut after `longest` characters.

    >>> in_words(4, 8, 60), in_words(NOTHING, 8, 60)
    ('was 4 and is 8', 'is new')
    """
    if was is NOTHING or now is NOTHING:
        return "is new" if was is NOTHING else "is gone"
    if isinstance(was, (Mapping, list)) or isinstance(now, (Mapping, list)):
        return "changed"
    return f"was {shown(was, longest)} and is {shown(now, longest)}"


class Item(Record):
    """A step into a list: the item with these merge keys, such as `("tensorflow",)` of containers."""

    keys: tuple[Any, ...]


class Order(Record):
    """A step into a list, to the order of its items, where those that stay change places: their merge keys."""


Step: TypeAlias = str | Item | Order

_Keys: TypeAlias = Mapping[str, Sequence[str]]
"""The lists whose items have keys, each with these."""


class FieldPath(Record):
    """Where a field is; `str` of it is as people write it: `spec.template.spec.containers[tensorflow].image`."""

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
    """A field that differs: what it was and what it is, `NOTHING` where it is not there."""

    path: FieldPath
    before: Any
    after: Any


def field_changes(before: Any, after: Any) -> tuple[FieldChange, ...]:
    """What changes, in the order of the fields afterwards; those that are gone come last of their mapping."""
    kinds = (data.get("kind") for data in (after, before) if isinstance(data, Mapping))
    kind = next((kind for kind in kinds if isinstance(kind, str)), "")
    return tuple(_changes(before, after, (), kustomize_keys(kind)))


def _changes(before: Any, after: Any, steps: tuple[Step, ...], keys: _Keys) -> Iterator[FieldChange]:
    if _same(before, after):
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
    """The items of two lists by the fewest keys that tell those of each apart; None where none do."""
    field = steps[-1] if steps else None
    if not isinstance(field, str) or field not in keys:
        return None
    names = tuple(keys[field])
    further = TOLD_APART[field][:1] if field in TOLD_APART else ()
    for more in ((), further):
        was, now = _by_keys(before, names, more), _by_keys(after, names, more)
        if was is not None and now is not None:
            return was, now
    return None


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same to Kubernetes: to Python, true is 1 and 1.0 too."""
    if one is NOTHING or other is NOTHING:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _by_keys(items: Any, names: Sequence[str], further: Sequence[str]) -> dict[Item, Any] | None:
    """The items of a list by their merge keys, and further ones; None where one has no merge key, or two are alike."""
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        return None
    # A key that an item lacks tells it apart all the same, but not if it lacks every one.
    by_keys = {Item(tuple(item[name] for name in (*names, *further) if name in item)): item for item in items}
    has_keys = not any(item.keys().isdisjoint(names) for item in items)
    return by_keys if len(by_keys) == len(items) and has_keys else None

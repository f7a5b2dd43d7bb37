"""The differences between two objects, field by field. Merge keys identify list items.

    >>> (change,) = field_changes({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}]})
    >>> str(change.path), change.before, change.after
    ('env[A].value', '1', '2')

The merge key depends on the kind of the object. For example, the key of ports is `port` in a Service, and
`containerPort` in a container.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.kubernetes.merge import kustomize_keys
from tfgen.record import Record
from tfgen.words import shown_pair


class Nothing:
    """The type of `NOTHING`, the value of a field that does not exist."""

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "NOTHING"  # unpickling returns the `NOTHING` of the process


NOTHING: Final = Nothing()


def in_words(was: Any, now: Any, longest: int) -> str:
    """Describe a changed value for a message. A value is cut to at most `longest` characters.

    >>> in_words(4, 8, 60), in_words(NOTHING, 8, 60)
    ('was 4 and is 8', 'is new')
    """
    if was is NOTHING or now is NOTHING:
        return "is new" if was is NOTHING else "was removed"
    if isinstance(was, (Mapping, list)) or isinstance(now, (Mapping, list)):
        return "changed"
    before, after = shown_pair(was, now, longest)
    return f"was {before} and is {after}"


class Item(Record):
    """The step of a field path that selects one item of a list, by the values of the item's merge keys.

    The merge key of a container is `name`, so the `keys` of the container `tensorflow` are `("tensorflow",)`.
    """

    keys: tuple[Any, ...]


class Order(Record):
    """The last step of a field path if the change is a different order of list items."""


Step: TypeAlias = str | Item | Order

_Keys: TypeAlias = Mapping[str, Sequence[str]]
"""The merge keys of the items of a list, by name of the list. Example: {"env": ["name"]}."""


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
    """A changed field with its old value and its new value. The value of a missing field is `NOTHING`."""

    path: FieldPath
    before: Any
    after: Any


def field_changes(before: Any, after: Any) -> tuple[FieldChange, ...]:
    """Return the changed fields in the order of `after`. In each mapping, the removed fields come last."""
    kinds = (data.get("kind") for data in (after, before) if isinstance(data, Mapping))
    kind = next((kind for kind in kinds if isinstance(kind, str)), "")
    return tuple(_changes(before, after, (), kustomize_keys(kind)))


def _changes(before: Any, after: Any, steps: tuple[Step, ...], keys: _Keys) -> Iterator[FieldChange]:
    if before is NOTHING or after is NOTHING:
        is_equal = before is after
    else:  # as for Kubernetes, and unlike in Python, True does not equal 1 or 1.0
        is_equal = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    if is_equal:
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
    """Return the items of two lists by their merge keys, so that the caller can compare items with equal keys.

    The result has a mapping for each list. For the list `env`, an example of a mapping is
    {Item(("A",)): {"name": "A", "value": "1"}}. Return None if the merge keys do not identify each item of both lists.
    The first merge key is sufficient if it distinguishes the items. For example, the merge keys of ports are the number
    and the protocol, and the protocol is necessary only if two ports have the same number.

    Args:
        before: the list in the old object.
        after: the list in the new object.
        steps: the path of the list. The last step is the name of the list, such as `ports`.
        keys: the merge keys of the items of a list, by name of the list. Example: {"env": ["name"]}.
    """
    field = steps[-1] if steps else None
    if not isinstance(field, str) or field not in keys:
        return None
    names = tuple(keys[field])
    for used in (names[:1], names):
        was, now = _by_keys(before, used), _by_keys(after, used)
        if was is not None and now is not None:
            return was, now
    return None


def _by_keys(items: Any, names: Sequence[str]) -> dict[Item, Any] | None:
    """Return the items of a list by their merge keys, which are the fields `names`.

    Example: {Item(("A",)): {"name": "A", "value": "1"}}. Return None if `items` is not a list of mappings, if an item
    lacks the first field of `names`, or if two items have the same merge keys.
    """
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        return None
    by_keys = {Item(tuple(item[name] for name in names if name in item)): item for item in items}
    has_keys = all(names[0] in item for item in items)
    return by_keys if len(by_keys) == len(items) and has_keys else None

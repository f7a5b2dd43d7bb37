"""Join alternative nodes of an object graph, such as the pods of the roles, into one node.

The joined node contains common content once, and contains a test at each difference between the alternatives. For
example, {"chief": {"a": 1, "b": 2}, "ps": {"a": 1, "c": 3}} with the parameter `role` is joined into
{"a": 1, "b": When(Equal(role, "chief"), 2), "c": When(Equal(role, "ps"), 3)}. The alternatives have the names `chief`
and `ps`.

So the code that builds the pod of a role needs no tests of the role, and the chart contains one named template for the
pods of all roles. If the parameter `role` has the value "ps", the filled node equals the filled alternative `ps`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final, TypeVar

from tfgen.graph.holes import AnyOf, Equal, Expression, ForEach, IsSet, Key, Let, Node, Not, Override, When
from tfgen.record import Record

_Key = TypeVar("_Key", bound=Hashable)
_Alternatives = Mapping[str, Node]


class _Choice(Record):
    """The parameter that selects one of several alternative nodes.

    Attributes:
        parameter: the expression whose value is the name of an alternative.
        default: the name of the alternative to use if the value names no alternative; None if this cannot happen.
    """

    parameter: Expression
    default: str | None

    def is_one_of(self, names: Collection[str], alternatives: _Alternatives) -> Expression:
        """Return a test that is true if the value of the parameter selects one of the alternatives in `names`.

        Example: AnyOf((Equal(role, "chief"), Equal(role, "ps"))) for the names chief and ps. If `names` contains the
        name of the default alternative, the test is also true for a value that names no alternative. `alternatives`
        contains all alternatives.
        """
        if self.default in names:
            return Not(self.is_one_of([name for name in alternatives if name not in names], alternatives))
        tests = tuple(Equal(self.parameter, name) for name in names)
        return tests[0] if len(tests) == 1 else AnyOf(tests)


def join_alternatives(alternatives: _Alternatives, parameter: Expression, *, default: str | None = None) -> Node:
    """Join alternative nodes into one node, in which tests of a parameter select the content that differs.

    Args:
        alternatives: the alternative nodes by name, such as {"chief": ..., "ps": ...}.
        parameter: the expression whose value is the name of an alternative.
        default: the name of the alternative to use if the value names no alternative; None if this cannot happen.
    """
    return _join(alternatives, _Choice(parameter, default))


def with_common_order(alternatives: Mapping[str, list[Node]]) -> dict[str, list[Node]]:
    """Sort the lists of all alternatives, so that items with the same names have the same order in every list.

    If the lists already have a common order, each list stays unchanged. Lists such as [a, b] and [b, a], which have no
    common order, get the order in which `_all_keys` inserts the names: [a, b] in the example.

    Args:
        alternatives: the list of each alternative, by the name of the alternative. Each item has a name, as a container
            does.
    """
    keys = _all_keys([[_identity(item) for item in items] for items in alternatives.values()])
    return {name: sorted(items, key=lambda item: keys.index(_identity(item))) for name, items in alternatives.items()}


_PARTS: Final[Mapping[type, Sequence[str]]] = {When: ("if_true", "if_false"), Let: ("body",), ForEach: ("body",)}
"""The attributes of holes that are joined if all other attributes are equal."""


def _join(alternatives: _Alternatives, choice: _Choice) -> Node:
    """Join nodes into one node, which contains common content once and a test at each difference."""
    nodes = [*alternatives.values()]
    first = nodes[0]
    if all(node == first for node in nodes):
        return first
    if all(isinstance(node, dict) for node in nodes):
        return _join_mappings(alternatives, choice)
    if all(isinstance(node, (list, tuple)) for node in nodes):
        return _join_sequences(alternatives, choice)
    fields = _PARTS.get(type(first))
    if fields and isinstance(first, (When, Let, ForEach)):
        parts = {field: getattr(first, field) for field in fields}
        if all(isinstance(node, type(first)) and node.replaced(**parts) == first for node in nodes):
            return first.replaced(**{field: _join_field(field, alternatives, choice) for field in fields})
    if isinstance(first, Override) and all(isinstance(node, Override) and node.first == first.first for node in nodes):
        return When(IsSet(first.first), first.first, _join_field("fallback", alternatives, choice))
    return _choose_whole(alternatives, choice)


def _join_mappings(alternatives: _Alternatives, choice: _Choice) -> Node:
    mappings: dict[str, dict[Key, Node]] = {name: dict(node) for name, node in alternatives.items()}  # type: ignore[arg-type]
    if not all(mappings.values()):
        return _choose_whole(alternatives, choice)
    keys = _all_keys([list(mapping) for mapping in mappings.values()])
    return {key: _join_some({n: m[key] for n, m in mappings.items() if key in m}, alternatives, choice) for key in keys}


def _join_sequences(alternatives: _Alternatives, choice: _Choice) -> Node:
    """Join lists item by item. Items match if they have the same name, or if they have no name and are equal."""
    lists: dict[str, list[Node]] = {name: list(node) for name, node in alternatives.items()}  # type: ignore[arg-type]
    named = {name: [(_identity(item), _name_first(item)) for item in items] for name, items in lists.items()}
    sequences = [[identity for identity, _ in items] for items in named.values()]
    keys = _all_keys(sequences)
    if not all(sequences) or not _keeps_order(keys, sequences):
        return _choose_whole(alternatives, choice)  # a list has duplicate items, or the lists have no common order
    by_key = {name: dict(items) for name, items in named.items()}
    return [_join_some({n: i[key] for n, i in by_key.items() if key in i}, alternatives, choice) for key in keys]


def _identity(item: Node) -> Hashable:
    return item["name"] if isinstance(item, dict) and isinstance(item.get("name"), str) else repr(item)


def _name_first(item: Node) -> Node:
    """Move the key `name` of a list item to the front, because the chart must not print a test around the first key."""
    return {"name": item["name"], **item} if isinstance(item, dict) and "name" in item else item


def _join_some(present: _Alternatives, alternatives: _Alternatives, choice: _Choice) -> Node:
    """Join the values that several alternatives have at the same key into one node.

    If an alternative lacks the key, add a test that omits the node for this alternative.

    Args:
        present: the values at the key, by the names of the alternatives that have the key.
        alternatives: all alternatives, with or without the key.
        choice: the parameter that selects an alternative.
    """
    joined = _join(present, choice)
    return joined if len(present) == len(alternatives) else When(choice.is_one_of([*present], alternatives), joined)


def _join_field(field: str, alternatives: _Alternatives, choice: _Choice) -> Node:
    """Join the values of the attribute `field`, such as `body`, of several holes of the same type into one node."""
    return _join({name: getattr(node, field) for name, node in alternatives.items()}, choice)


def _choose_whole(alternatives: _Alternatives, choice: _Choice) -> Node:
    """Return nested `When` nodes that select one of the alternatives as a whole.

    For example, {"chief": 1, "ps": 2, "worker": 2} becomes When(Equal(role, "chief"), 1, 2). The most frequent node, 2
    in the example, needs no test. If several nodes are equally frequent, the default alternative needs no test.
    """
    groups: list[tuple[Node, list[str]]] = []
    for name, node in alternatives.items():
        names = next((names for group_node, names in groups if group_node == node), None)
        if names is None:
            groups.append((node, [name]))
        else:
            names.append(name)
    *tested, (chosen, _) = sorted(groups, key=lambda group: (len(group[1]), choice.default in group[1]))
    for node, names in reversed(tested):
        chosen = When(choice.is_one_of(names, alternatives), node, chosen)
    return chosen


def _all_keys(sequences: Sequence[Sequence[_Key]]) -> list[_Key]:
    """Merge several sequences of keys into a list that contains each key once, in the order of all sequences.

    For example, (a, c) and (b, c, d) become (b, a, c, d). A new key of a later sequence comes directly after the key
    that precedes the new key in this sequence. A new key without a predecessor comes first. If the result breaks the
    order of a sequence, the keys are sorted again: (a), (b) and (a, b) become (a, b). Sequences without a common order,
    such as (a, b) and (b, a), keep the result of the insertions, (a, b) in the example.
    """
    keys: list[_Key] = []
    known: set[_Key] = set()
    for sequence in sequences:
        position = 0
        for key in sequence:
            if key not in known:
                known.add(key)
                keys.insert(position, key)
            elif keys[position : position + 1] != [key]:  # the search of a long list for each key would be slow
                position = keys.index(key)
            position += 1
    return keys if _keeps_order(keys, sequences) else _in_common_order(keys, sequences)


def _keeps_order(keys: Sequence[_Key], sequences: Sequence[Sequence[_Key]]) -> bool:
    """Return whether `keys` contains the keys of each sequence in the order of the sequence."""
    sets = map(set, sequences)
    return all(
        [key for key in keys if key in known] == [*sequence] for known, sequence in zip(sets, sequences, strict=True)
    )


def _in_common_order(keys: list[_Key], sequences: Sequence[Sequence[_Key]]) -> list[_Key]:
    """Sort `keys` in the order of all sequences.

    If the sequences allow several keys at a position of the result, the first of these keys in `keys` gets the
    position. If the sequences have no common order, return `keys`.
    """
    sorter: TopologicalSorter[_Key] = TopologicalSorter(dict.fromkeys(keys, ()))
    for sequence in sequences:
        for key, next_key in pairwise(sequence):
            sorter.add(next_key, key)
    try:
        sorter.prepare()
    except CycleError:
        return keys
    ordered: list[_Key] = []
    ready: list[_Key] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=keys.index)
        ordered.append(ready.pop(0))
        sorter.done(ordered[-1])
    return ordered

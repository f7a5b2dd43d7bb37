"""One node for several variants of it: what they have alike stands once, and what differs under a test.

join({"chief": {"a": 1, "b": 2}, "ps": {"a": 1, "c": 3}}, Parameter("role"))
  ->  {"a": 1, "b": When(Equal(role, "chief"), 2), "c": When(Equal(role, "ps"), 3)}

So the pods of a job's roles can be built one by one, each without a question, and be one part of the chart all the
same. The law: where the parameter has a variant's name, the joined node is filled as that variant is. No test in it
has the same answer for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

from tfgen.graph.holes import AnyOf, Default, Equal, Expression, ForEach, Key, Let, Node, Not, When
from tfgen.record import Record

_Key = TypeVar("_Key", bound=Hashable)
_Variants = Mapping[str, Node]


class _Choice(Record):
    """What tells the variants apart, and the name of the one for every text that is no other's; null for none."""

    parameter: Expression
    others: str | None

    def is_one_of(self, names: Collection[str], variants: _Variants) -> Expression:
        """Whether it is to be one of some of the variants, where it is to be one of these."""
        if self.others in names:
            return Not(self.is_one_of([name for name in variants if name not in names], variants))
        tests = tuple(Equal(self.parameter, name) for name in names)
        return tests[0] if len(tests) == 1 else AnyOf(tests)


def join_alternatives(variants: _Variants, parameter: Expression, *, others: str | None = None) -> Node:
    """The one node.

    Args:
        variants: the nodes, by the name that the parameter has where it is to be that one.
        parameter: what tells them apart.
        others: the name of the variant for whatever else the parameter has; None where it has nothing else.
    """
    return _join(variants, _Choice(parameter, others))


def with_common_order(variants: Mapping[str, list[Node]]) -> dict[str, list[Node]]:
    """Lists whose items have names, each in an order that all of them have in common.

    A list whose order is that of all stays as it is.
    """
    keys = _all_keys([[_identity(item) for item in items] for items in variants.values()])
    return {name: sorted(items, key=lambda item: keys.index(_identity(item))) for name, items in variants.items()}


def _join(variants: _Variants, parameter: _Choice) -> Node:
    first, *others = variants.values()
    if all(other == first for other in others):
        return first
    nodes = [first, *others]
    if all(isinstance(node, dict) for node in nodes):
        return _join_mappings(variants, parameter)
    if all(isinstance(node, (list, tuple)) for node in nodes):
        return _join_sequences(variants, parameter)
    if isinstance(first, When) and all(isinstance(node, When) and node.test == first.test for node in nodes):
        return When(
            first.test, _join_field("if_true", variants, parameter), _join_field("if_false", variants, parameter)
        )
    if isinstance(first, Let) and all(
        isinstance(node, Let) and node.name == first.name and node.expression == first.expression for node in nodes
    ):
        return Let(first.name, first.expression, _join_field("body", variants, parameter))
    if isinstance(first, ForEach) and all(
        isinstance(node, ForEach) and node.replaced(body=first.body) == first for node in nodes
    ):
        return first.replaced(body=_join_field("body", variants, parameter))
    if isinstance(first, Default) and all(isinstance(node, Default) and node.first == first.first for node in nodes):
        return When(first.first, first.first, _join_field("fallback", variants, parameter))
    return _choose(variants, parameter)


def _join_mappings(variants: _Variants, parameter: _Choice) -> Node:
    mappings: dict[str, dict[Key, Node]] = {name: dict(node) for name, node in variants.items()}  # type: ignore[arg-type]
    if not all(mappings.values()):
        return _choose(variants, parameter)
    keys = _all_keys([list(mapping) for mapping in mappings.values()])
    return {key: _join_some({n: m[key] for n, m in mappings.items() if key in m}, variants, parameter) for key in keys}


def _join_sequences(variants: _Variants, parameter: _Choice) -> Node:
    """The items by their names; what has none is the same or another as a whole."""
    items: dict[str, list[Node]] = {name: list(node) for name, node in variants.items()}  # type: ignore[arg-type]
    named = {name: [(_identity(item), _name_first(item)) for item in own] for name, own in items.items()}
    sequences = [[identity for identity, _ in own] for own in named.values()]
    keys = _all_keys(sequences)
    if not all(sequences) or any([key for key in keys if key in sequence] != sequence for sequence in sequences):
        return _choose(variants, parameter)  # an item is there twice, or the items have no order in common
    by_key = {name: dict(own) for name, own in named.items()}
    return [_join_some({n: i[key] for n, i in by_key.items() if key in i}, variants, parameter) for key in keys]


def _identity(item: Node) -> Hashable:
    return item["name"] if isinstance(item, dict) and isinstance(item.get("name"), str) else repr(item)


def _name_first(item: Node) -> Node:
    """The item with its name before all else: a chart's list item begins with an entry that is always there."""
    return {"name": item["name"], **item} if isinstance(item, dict) and "name" in item else item


def _join_some(present: _Variants, variants: _Variants, parameter: _Choice) -> Node:
    """What some of the variants have."""
    joined = _join(present, parameter)
    return joined if len(present) == len(variants) else When(parameter.is_one_of([*present], variants), joined)


def _join_field(field: str, variants: _Variants, parameter: _Choice) -> Node:
    """A field of holes of one kind."""
    return _join({name: getattr(node, field) for name, node in variants.items()}, parameter)


def _choose(variants: _Variants, parameter: _Choice) -> Node:
    """Each variant as a whole: the one that most have is what is left; of those alike, the one of all others."""
    groups: list[tuple[Node, list[str]]] = []
    for name, node in variants.items():
        names = next((names for other, names in groups if other == node), None)
        if names is None:
            groups.append((node, [name]))
        else:
            names.append(name)
    *tested, (chosen, _) = sorted(groups, key=lambda group: (len(group[1]), parameter.others in group[1]))
    for node, names in reversed(tested):
        chosen = When(parameter.is_one_of(names, variants), node, chosen)
    return chosen


def _all_keys(sequences: Sequence[Sequence[_Key]]) -> list[_Key]:
    """All keys, in the order of each of the sequences where these have one in common."""
    keys: list[_Key] = []
    for sequence in sequences:
        place = 0
        for key in sequence:
            if key in keys:
                place = keys.index(key) + 1
            else:
                keys.insert(place, key)
                place += 1
    return keys

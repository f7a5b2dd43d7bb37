"""Groups neighbouring entries or items that have the same test, so that a single ``if`` contains the whole group.

{"a": When(T, 1), "b": When(T, 2), "c": 3}  ->  When(T, {"a": 1, "b": 2}), then "c"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from tfgen.graph.holes import ABSENT, Key, Node, When


def entries_under_one_test(mapping: Mapping[Key, Node]) -> Iterator[tuple[When | None, Mapping[Key, Node]]]:
    """Group the neighbouring entries of a mapping that have the same test. Yield (when, entries) for each group.

    The node `when` contains all entries of the group. For a group of entries without a test, `when` is None. Example of
    the entries and the `when` of a group:

        {"a": When(T, 1), "b": When(T, 2)}  ->  When(T, {"a": 1, "b": 2})

    If the last entry of a group also prints a value for a false test, `when` has a second branch with this entry.
    """
    entries = [*mapping.items()]
    while entries:
        test = _single_test(entries[0][1])
        count = next((i for i, (_, node) in enumerate(entries) if _single_test(node) != test), len(entries))
        if test is None:
            yield None, dict(entries[:count])
        else:
            if_false: Node = ABSENT
            if count < len(entries) and isinstance(last := entries[count][1], When) and last.test == test:
                if_false, count = _entry_of(entries[count][0], last.if_false), count + 1
            group = dict(entries[:count])
            yield When(test, {key: n.if_true for key, n in group.items() if isinstance(n, When)}, if_false), group
        entries = entries[count:]


def items_under_one_test(items: Sequence[Node]) -> Iterator[tuple[When | None, Sequence[Node]]]:
    """Group the neighbouring items of a sequence that have the same test. Yield (when, items) for each group.

    The node `when` contains all items of the group. For a group of items without a test, `when` is None. Example of the
    items and the `when` of a group:

        [When(T, 1), When(T, 2)]  ->  When(T, [1, 2])
    """
    for test, neighbours in groupby(items, key=_single_test):
        group = [*neighbours]
        yield (None if test is None else When(test, [item.if_true for item in group if isinstance(item, When)])), group


def _entry_of(key: Key, node: Node) -> Node:
    """Return the mapping {key: node}. For a `When`, move the key into both branches.

    For example, the result for the key "a" and the node When(T, 1, 2) is When(T, {"a": 1}, {"a": 2}).
    """
    if isinstance(node, When):
        return When(node.test, _entry_of(key, node.if_true), _entry_of(key, node.if_false))
    return node if node is ABSENT else {key: node}


def _single_test(node: Node) -> Node:
    """Return the test of a `When` that has no second branch; None for any other node."""
    return node.test if isinstance(node, When) and node.if_false is ABSENT else None

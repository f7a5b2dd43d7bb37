"""Neighbours in a mapping or sequence that stand under one test, so that the template asks it once.

{"a": When(T, 1), "b": When(T, 2), "c": 3}  ->  When(T, {"a": 1, "b": 2}), then "c"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from tfgen.graph.holes import ABSENT, Key, Node, When


def entries_under_one_test(mapping: Mapping[Key, Node]) -> Iterator[tuple[When | None, Mapping[Key, Node]]]:
    """Neighbours with one test as one choice, the last of which may have another branch; the others as they are."""
    entries = [*mapping.items()]
    while entries:
        test = _own_test(entries[0][1])
        count = next((i for i, (_, node) in enumerate(entries) if _own_test(node) != test), len(entries))
        if test is None:
            yield None, dict(entries[:count])
        else:
            otherwise: Node = ABSENT
            if count < len(entries) and isinstance(last := entries[count][1], When) and last.test == test:
                otherwise, count = _branch(entries[count][0], last.if_false), count + 1
            run = dict(entries[:count])
            yield When(test, {key: n.if_true for key, n in run.items() if isinstance(n, When)}, otherwise), run
        entries = entries[count:]


def items_under_one_test(items: Sequence[Node]) -> Iterator[tuple[When | None, Sequence[Node]]]:
    """Neighbours with one test as one choice; the others as they are."""
    for test, neighbours in groupby(items, key=_own_test):
        run = [*neighbours]
        yield (None if test is None else When(test, [item.if_true for item in run if isinstance(item, When)])), run


def _branch(key: Key, node: Node) -> Node:
    """An entry as a mapping, or as a choice of them."""
    if isinstance(node, When):
        return When(node.test, _branch(key, node.if_true), _branch(key, node.if_false))
    return node if node is ABSENT else {key: node}


def _own_test(node: Node) -> Node:
    """The condition on an entry or item that has no other branch; null for any other."""
    return node.test if isinstance(node, When) and node.if_false is ABSENT else None

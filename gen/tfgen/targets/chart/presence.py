"""When anything of a part of a graph is left: the printer's half of a law of `fill`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from tfgen.graph.holes import (
    Absent,
    AllOf,
    AnyOf,
    Call,
    Comment,
    Each,
    Hole,
    Items,
    Let,
    Named,
    Node,
    Not,
    NotEmpty,
    When,
    type_of,
)
from tfgen.value_type import TREES


def presence(node: Node) -> Node:
    """When anything of a node is left: ``True`` for always, else the test; the printer's half of the law of `fill`."""
    match node:
        case When(test, then, otherwise):
            inner, other = presence(then), presence(otherwise)
            if inner is True and other is True:
                return True
            ways = [_both(*way) for way in ((test, inner), (Not(test), other)) if way[1] is not False]
            return AnyOf(tuple(ways)) if len(ways) > 1 else ways[0] if ways else False
        case Absent():
            return False
        case Items(items):
            return items
        case Each(over, body):
            if presence(body) is not True:
                raise TypeError(
                    f"whether anything is left of these items cannot be said before they are made: {node!r}"
                )
            return over
        case Named(node=inner) | Call(part=Named(node=inner)):
            left = presence(inner)
            return left if isinstance(left, bool) else node  # what it is left by may be a name of its own
        case Let(body=inner):
            return presence(inner)
        case Hole():
            return node if type_of(node) in TREES else True
        case str() | int() | None:
            return True
        case dict():
            return _presence_of_any([child for key, child in node.items() if not isinstance(key, Comment)])
        case list() | tuple():
            return _presence_of_any(node)
        case Mapping() | Sequence():
            raise TypeError(f"not a node: {node!r}")
    assert_never(node)


def ends_in_tree(node: Node) -> bool:
    """Whether the last line of a node may come from ``toYaml``, which writes a text's empty lines at its end."""
    match node:
        case When(_, then, otherwise):
            return ends_in_tree(then) or ends_in_tree(otherwise)
        case Each(body=inner) | Named(node=inner) | Call(part=inner) | Let(body=inner):
            return ends_in_tree(inner)
        case Items() | NotEmpty():
            return True
        case Hole():
            return type_of(node) in TREES
        case dict():
            return _last_ends_in_tree(list(node.values()))
        case list() | tuple():
            return _last_ends_in_tree(node)
    return False


def _last_ends_in_tree(children: Sequence[Node]) -> bool:
    """Whether the last of the children that is there may end so."""
    for child in reversed(children):
        if ends_in_tree(child):
            return True
        if not isinstance(child, Each) and presence(child) is True:
            return False
    return False


def _both(test: Node, presence: Node) -> Node:
    return test if presence is True else AllOf((test, presence))


def _presence_of_any(children: Sequence[Node]) -> Node:
    if not children:
        return True
    tests: list[Node] = []
    for child in children:
        # One that is always there settles it, whatever cannot be said of the others.
        if not isinstance(child, Each) and presence(child) is True:
            return True
    for child in children:
        test = presence(child)
        if test is not False and test not in tests:
            tests.append(test)
    return tests[0] if len(tests) == 1 else AnyOf(tuple(tests))

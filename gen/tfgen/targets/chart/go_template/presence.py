"""When anything of a part of a graph is left, and what a test around it says of that: the printer's half of `fill`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import assert_never

from tfgen.graph.holes import (
    Absent,
    AllOf,
    AnyOf,
    AsText,
    Bound,
    Call,
    Comment,
    Default,
    Expression,
    ForEach,
    Hole,
    Items,
    Let,
    MapOf,
    Merged,
    Named,
    Node,
    Not,
    NotEmpty,
    Parameter,
    Text,
    Value,
    When,
    child_nodes,
    type_of,
)
from tfgen.record import Record
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
        case Items(inner) | AsText(inner):
            return presence(inner)
        case ForEach(over, body):
            if presence(body) is not True:
                raise TypeError(
                    f"whether anything is left of these items cannot be said before they are made: {node!r}"
                )
            return over
        case Named(node=inner) | Call(part=Named(node=inner)):
            left = presence(inner)
            return left if isinstance(left, bool) else node  # what it is left by may be a name of its own
        case Let(name, expression, inner):
            return unknown(presence(inner), known_of(name, expression))
        case NotEmpty():
            return True
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


def unknown(test: Node, known: Collection[Node]) -> Node:
    """What is left to ask of a test where some are known to be true: ``True`` for nothing."""
    if test in known:
        return True
    match test:
        case AllOf(nodes):
            left = tuple(inner for inner in (unknown(node, known) for node in nodes) if inner is not True)
            return AllOf(left) if len(left) > 1 else left[0] if left else True
        case AnyOf(nodes) if any(unknown(node, known) is True for node in nodes):
            return True
    return test


def all_of(*tests: Node) -> Node:
    """The test that each of the tests is true, of which none asks for several."""
    single = tuple(dict.fromkeys(one for test in tests for one in parts_of_test(test)))
    return AllOf(single) if len(single) > 1 else single[0]


def parts_of_test(test: Node) -> tuple[Node, ...]:
    """All that is true where a test is."""
    return tuple(part for node in test.nodes for part in parts_of_test(node)) if isinstance(test, AllOf) else (test,)


def known_of(name: str, expression: Expression) -> tuple[Node, ...]:
    """What is known of a map that a `Let` names: whether something is always in it."""
    lowest = expression.layers[0] if isinstance(expression, Merged) else None
    is_sure = isinstance(lowest, MapOf) and any(map(_comes_to_something, lowest.entries.values()))
    return (Bound(name, "map"),) if is_sure else ()


def _comes_to_something(node: Node) -> bool:
    return not isinstance(node, Hole) and bool(node)


def inner_test(node: Node) -> Node:
    """The test under which all of a branch is printed, to be asked with the branch's own; null where there is none."""
    match node:
        case When(test, _, Absent()) if not is_of(node.if_true, test):
            return test
        case dict() if len(node) == 1:
            [(key, child)] = node.items()
            return None if isinstance(key, Comment) else _test_of_child(child)
        case list() if len(node) == 1 and isinstance(node[0], When):
            return inner_test(node[0])
    return None


def _test_of_child(child: Node) -> Node:
    if isinstance(child, When):
        return inner_test(child)
    if not isinstance(child, (dict, list, tuple)):
        return None
    left = presence(child)
    return None if isinstance(left, bool) or any(_has_part(left)) else left


def _has_part(node: Node | Record) -> Iterator[bool]:
    yield isinstance(node, (Named, Call))
    for inner in child_nodes(node):
        yield from _has_part(inner)


def is_of(node: Node, hole: Node) -> bool:
    """Whether a node is made of a scalar or tree hole, and of no other: all that is printed of it is the dot's."""
    is_value = isinstance(hole, (Value, Bound, Parameter, Default)) and type_of(hole) != "boolean"
    return is_value and set(_holes(node, hole)) == {True}


def _holes(node: Node | Record, hole: Node) -> Iterator[bool]:
    """For each hole in a node that is not made of others: whether it is the one."""
    if node == hole:
        yield True
    elif isinstance(node, Hole) and not isinstance(node, (Text, NotEmpty, Items)):
        yield False
    else:
        for inner in child_nodes(node):
            yield from _holes(inner, hole)


def mentions(node: Node | Record, names: Collection[str]) -> bool:
    """Whether a node looks at something that is bound to one of the names."""
    return (isinstance(node, Bound) and node.name in names) or any(mentions(n, names) for n in child_nodes(node))


def ends_in_tree(node: Node) -> bool:
    """Whether the last line of a node may come from ``toYaml``, which writes a text's empty lines at its end."""
    match node:
        case When(_, then, otherwise):
            return ends_in_tree(then) or ends_in_tree(otherwise)
        case ForEach(body=inner) | Named(node=inner) | Call(part=inner) | Let(body=inner):
            return ends_in_tree(inner)
        case AsText():
            return False  # each text is in quotes
        case Items(inner) | NotEmpty(inner) if not isinstance(inner, AsText):
            return True
        case Hole() if not isinstance(node, (Items, NotEmpty)):
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
        if not isinstance(child, ForEach) and presence(child) is True:
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
        if not isinstance(child, ForEach) and presence(child) is True:
            return True
    for child in children:
        test = presence(child)
        if test is not False and test not in tests:
            tests.append(test)
    return tests[0] if len(tests) == 1 else AnyOf(tuple(tests))

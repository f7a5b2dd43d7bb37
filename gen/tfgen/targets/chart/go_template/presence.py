"""Computes the presence test of a node. The test is true if the output of the node is not empty.

For example, the presence test of the labels of a pod is ``.Values.labels``. The printer writes an ``if`` or ``with``
with this test around the labels, because `fill` also removes empty maps and lists. If an outer ``if`` already has the
same test, the printer writes no second ``if``.
"""

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
    NamedTemplate,
    Node,
    Not,
    NotEmpty,
    Override,
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
    """Return the presence test of a node, which is true if the output of the node is not empty.

    For an output that is never empty, return True. For an output that is always empty, return False.
    """
    match node:
        case When(test, if_true, if_false):
            true_presence, false_presence = presence(if_true), presence(if_false)
            if true_presence is True and false_presence is True:
                return True
            branches = ((test, true_presence), (Not(test), false_presence))
            tests = [_with_presence(*branch) for branch in branches if branch[1] is not False]
            return AnyOf(tuple(tests)) if len(tests) > 1 else tests[0] if tests else False
        case Absent():
            return False
        case Items(child) | AsText(child):
            return presence(child)
        case ForEach(over, body):
            if presence(body) is not True:
                raise TypeError(f"the presence of a ForEach cannot be tested, because its body may be empty: {node!r}")
            return over
        case NamedTemplate(node=child) | Call(template=NamedTemplate(node=child)):
            test = presence(child)
            # The test may use a variable of the named template, so Helm tests the output of the named template.
            return test if isinstance(test, bool) else node
        case Let(name, expression, child):
            return remaining_test(presence(child), let_facts(name, expression))
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


def remaining_test(test: Node, facts: Collection[Node]) -> Node:
    """Remove from a test the conditions that are already known to be true. If no condition remains, return True.

    For example, if `facts` contains the test A, the result for "A and B" is B.
    """
    if test in facts:
        return True
    match test:
        case AllOf(nodes):
            tests = tuple(part for part in (remaining_test(node, facts) for node in nodes) if part is not True)
            return AllOf(tests) if len(tests) > 1 else tests[0] if tests else True
        case AnyOf(nodes) if any(remaining_test(node, facts) is True for node in nodes):
            return True
    return test


def all_of(*tests: Node) -> Node:
    """Combine several tests with "and". The result contains each condition only once."""
    parts = tuple(dict.fromkeys(part for test in tests for part in parts_of_test(test)))
    return AllOf(parts) if len(parts) > 1 else parts[0]


def parts_of_test(test: Node) -> tuple[Node, ...]:
    """Return the conditions that a test combines with "and", or the test itself. Example: (A, B) for "A and B"."""
    return tuple(part for node in test.nodes for part in parts_of_test(node)) if isinstance(test, AllOf) else (test,)


def let_facts(name: str, expression: Expression) -> tuple[Node, ...]:
    """Return the tests that are certainly true after the assignment of an expression to a variable.

    If the expression merges maps, and the first map has a constant entry, the variable is never empty. The result is
    then the test that the variable is not empty. For all other expressions, the result is empty.
    """
    lowest = expression.maps[0] if isinstance(expression, Merged) else None
    is_never_empty = isinstance(lowest, MapOf) and any(map(_is_literal, lowest.entries.values()))
    return (Bound(name, "map"),) if is_never_empty else ()


def _is_literal(node: Node) -> bool:
    return not isinstance(node, Hole) and bool(node)


def branch_test(node: Node) -> Node:
    """Return the test that decides whether a branch of a `When` prints something; None without such a test.

    The printer adds this test to the ``if`` of the branch, instead of a nested ``if``.
    """
    match node:
        case When(test, _, Absent()) if not depends_only_on(node.if_true, test):
            return test
        case dict() if len(node) == 1:
            [(key, child)] = node.items()
            return None if isinstance(key, Comment) else _test_of_child(child)
        case list() if len(node) == 1 and isinstance(node[0], When):
            return branch_test(node[0])
    return None


def _test_of_child(child: Node) -> Node:
    if isinstance(child, When):
        return branch_test(child)
    if not isinstance(child, (dict, list, tuple)):
        return None
    test = presence(child)
    return None if isinstance(test, bool) or any(_has_named_template(test)) else test


def _has_named_template(node: Node | Record) -> Iterator[bool]:
    yield isinstance(node, (NamedTemplate, Call))
    for child in child_nodes(node):
        yield from _has_named_template(child)


def depends_only_on(node: Node, hole: Node) -> bool:
    """Test whether the value `hole` is the only hole in a node. The printer can write ``with`` around such a node."""
    is_value = isinstance(hole, (Value, Bound, Parameter, Default, Override)) and type_of(hole) != "boolean"
    return is_value and set(_compare_holes(node, hole)) == {True}


def _compare_holes(node: Node | Record, hole: Node) -> Iterator[bool]:
    """Compare each hole in a node with the given hole. Yield True for an equal hole, and False for a different hole."""
    if node == hole:
        yield True
    elif isinstance(node, Hole) and not isinstance(node, (Text, NotEmpty, Items)):
        yield False
    else:
        for child in child_nodes(node):
            yield from _compare_holes(child, hole)


def mentions(node: Node | Record, names: Collection[str]) -> bool:
    """Test whether a node of the object graph uses one of the variables `names`."""
    return (isinstance(node, Bound) and node.name in names) or any(mentions(n, names) for n in child_nodes(node))


def ends_in_tree(node: Node) -> bool:
    """Test whether the output of a node may end with a map or a list that ``toYaml`` prints.

    The last empty lines of such a map or list may be part of a value, so Helm must not remove these lines.
    """
    match node:
        case When(_, if_true, if_false):
            return ends_in_tree(if_true) or ends_in_tree(if_false)
        case ForEach(body=child) | NamedTemplate(node=child) | Call(template=child) | Let(body=child):
            return ends_in_tree(child)
        case AsText():
            return False  # quotes protect the end of each text
        case Items(child) | NotEmpty(child) if not isinstance(child, AsText):
            return True
        case Hole() if not isinstance(node, (Items, NotEmpty)):
            return type_of(node) in TREES
        case dict():
            return _last_ends_in_tree(list(node.values()))
        case list() | tuple():
            return _last_ends_in_tree(node)
    return False


def _last_ends_in_tree(children: Sequence[Node]) -> bool:
    """Test whether the output of several nodes, one after the other, may end with a map or list that ``toYaml`` prints.

    If the last node may print nothing, the result also depends on the node before the last node.
    """
    for child in reversed(children):
        if ends_in_tree(child):
            return True
        if not isinstance(child, ForEach) and presence(child) is True:
            return False
    return False


def _with_presence(test: Node, presence: Node) -> Node:
    return test if presence is True else AllOf((test, presence))


def _presence_of_any(children: Sequence[Node]) -> Node:
    if not children:
        return True
    tests: list[Node] = []
    for child in children:
        # One child that is always present is sufficient, even if the presence of another child cannot be tested.
        if not isinstance(child, ForEach) and presence(child) is True:
            return True
    for child in children:
        test = presence(child)
        if test is not False and test not in tests:
            tests.append(test)
    return tests[0] if len(tests) == 1 else AnyOf(tuple(tests))

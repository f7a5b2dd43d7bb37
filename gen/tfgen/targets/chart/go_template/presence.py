"""Computes properties of nodes: the test that a node prints something, and whether a node has holes.

The presence test of a node is true if the output of the node is not empty. For example, the presence test of the labels
of a pod is ``.Values.labels``. The printer writes an ``if`` or ``with`` with this test around the labels, because
`fill` also removes empty maps and lists. If an outer ``if`` already has the same test, the printer writes no second
``if``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import assert_never

from tfgen.data_path import TREES
from tfgen.graph.holes import (
    ABSENT,
    Absent,
    AllOf,
    AnyOf,
    AsText,
    Bound,
    Call,
    ChartOnly,
    Comment,
    Default,
    Expression,
    File,
    ForEach,
    Hole,
    Items,
    Key,
    Let,
    MapOf,
    Merged,
    NamedTemplate,
    Node,
    Not,
    NotEmpty,
    Override,
    Parameter,
    Release,
    Text,
    Value,
    When,
    cached_on_record,
    child_nodes,
    type_of,
)
from tfgen.record import Record

# -- presence tests ----------------------------------------------------------------------------------------------------


def presence(node: Node) -> Node:
    """Return the presence test of a node, which is true if the output of the node is not empty.

    For an output that is never empty, return True. For an output that is always empty, return False.
    """
    match node:
        case When(test, if_true, if_false):
            true_presence, false_presence = presence(if_true), presence(if_false)
            if true_presence is True and false_presence is True:
                return True
            tests = [
                branch if is_present is True else AllOf((branch, is_present))
                for branch, is_present in ((test, true_presence), (Not(test), false_presence))
                if is_present is not False
            ]
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
    is_never_empty = isinstance(lowest, MapOf) and any(
        not isinstance(node, Hole) and bool(node) for node in lowest.entries.values()
    )
    return (Bound(name, "map"),) if is_never_empty else ()


def branch_test(node: Node) -> Node:
    """Return the test that decides whether a branch of a `When` prints something; None without such a test.

    The printer adds this test to the ``if`` of the branch, instead of a nested ``if``.
    """
    match node:
        case When(test, _, Absent()) if not depends_only_on(node.if_true, test):
            return test
        case dict() if len(node) == 1:
            [(key, child)] = node.items()
            if isinstance(key, Comment):
                return None
            if isinstance(child, When):
                return branch_test(child)
            child_test = presence(child) if isinstance(child, (dict, list, tuple)) else True
            includes = any(isinstance(part, (NamedTemplate, Call)) for part in _nodes_in(child_test))
            return None if isinstance(child_test, bool) or includes else child_test
        case list() if len(node) == 1 and isinstance(node[0], When):
            return branch_test(node[0])
    return None


def _nodes_in(node: Node | Record) -> Iterator[Node | Record]:
    yield node
    for child in child_nodes(node):
        yield from _nodes_in(child)


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
    return any(isinstance(part, Bound) and part.name in names for part in _nodes_in(node))


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


def _presence_of_any(children: Sequence[Node]) -> Node:
    # One child that is always present is sufficient, even if the presence of another child cannot be tested.
    if not children or any(presence(child) is True for child in children if not isinstance(child, ForEach)):
        return True
    tests: list[Node] = []
    for test in map(presence, children):
        if test is not False and test not in tests:
            tests.append(test)
    return tests[0] if len(tests) == 1 else AnyOf(tuple(tests))


# -- properties that are the same at each place in a template ----------------------------------------------------------


def is_constant(node: Node) -> bool:
    """Test whether the output of a node does not depend on the values of the chart."""
    return not isinstance(node, Hole) or (isinstance(node, MapOf) and all(map(is_constant, node.entries.values())))


def has_holes(node: Node) -> bool:
    """Test whether a node of the object graph contains more than plain data, such as a hole, a comment or `ABSENT`."""
    match node:
        case Hole() | Absent():
            return True
        case dict():
            return any(not isinstance(key, str) or has_holes(child) for key, child in node.items())
        case str():
            return False
        case list() | tuple():
            return any(has_holes(child) for child in node)
    return False


@cached_on_record
def needs_root(node: Node | Record) -> bool:
    """Test whether a named template, or another node, uses the root context, for example ``.Values``."""
    match node:
        case Value() | Release() | File() | NamedTemplate(parameters=()):
            return True
        case ChartOnly():
            return node.reads_root
        case Call(called, arguments):
            return needs_root(called) or any(needs_root(argument) for _, argument in arguments)
    return any(map(needs_root, child_nodes(node)))


# -- neighbours with one test ------------------------------------------------------------------------------------------


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

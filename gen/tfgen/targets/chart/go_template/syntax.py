"""Writes the syntax of Go templates, computes properties of nodes, and describes the place at which a node is printed.

https://pkg.go.dev/text/template

The presence test of a node is true if the output of the node is not empty. For example, the presence test of the labels
of a pod is ``.Values.labels``. The printer writes an ``if`` or ``with`` with this test around the labels, because
`fill` also removes empty maps and lists. If an outer ``if`` already has the same test, the printer writes no second
``if``.
"""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, count, groupby
from typing import Final, TypeAlias, assert_never

from tfgen.data_path import TREES
from tfgen.graph import holes as h
from tfgen.graph.holes import ABSENT, Expression, Key, Node, cached_on_record, child_nodes, type_of
from tfgen.record import EMPTY, Record

# -- text --------------------------------------------------------------------------------------------------------------


Lines: TypeAlias = list[str]

ENDED: Final = "{{- end }}"

COMMENT_WIDTH: Final = 120
"""Maximum length of a line in a comment."""

_SPACE: Final = (" ", "\t", "\r", "\n")
"""The white space that Go removes next to an action with a dash, such as ``{{-``."""


@functools.lru_cache(1 << 12)
def field(base: str, path: str) -> str:
    """Return the expression for a field. Example: ``.Values.gang.queue`` for base ``.Values`` and path `gang.queue`.

    For a key that is no identifier of Go, the expression calls ``index``. Example: ``(index .Values "my-key")``.
    """
    names = [name for name in path.split(".") if name]
    if all(name.isidentifier() and name.isascii() for name in names):
        return ".".join([base, *names])
    return f"(index {base} {' '.join(literal(name) for name in names)})"


def literal(value: str | int) -> str:
    """Return a constant as a literal of Go. A text with quotes or backslashes is in backquotes, to avoid escapes."""
    if isinstance(value, str) and ('"' in value or "\\" in value) and value.isprintable() and "`" not in value:
        return f"`{value}`"
    return json.dumps(value, ensure_ascii=False)


def escape(text: str) -> str:
    """Escape a text, so that Helm prints the text unchanged."""
    return text.replace("{{", '{{ "{{" }}')


def keep_space(text: str) -> str:
    """Protect the white space at both ends of a text from the dash of a neighbouring action such as ``{{- end }}``.

    The result has an action, for example ``{{ " " }}``, in place of the white space.
    """
    core = text.strip("".join(_SPACE))
    start, _, end = text.partition(core) if core else (text, "", "")
    before, after = (f"{{{{ {literal(space)} }}}}" if space else "" for space in (start, end))
    return f"{before}{core}{after}"


def join(texts: Sequence[str]) -> str:
    """Concatenate texts and actions of Go templates.

    - Go would read a brace before an action as a part of the action. An action that prints a brace replaces the brace.
    - The dash of an action removes the white space before the action. An action after white space loses its dash.
    """
    out = ""
    for text in texts:
        if text.startswith("{{") and out.endswith("{") and not out.endswith("}}{{"):
            out = f'{out[:-1]}{{{{ "{{" }}}}'
        out += text.replace("{{-", "{{", 1) if text.startswith("{{-") and out.endswith(_SPACE) else text
    return out


def indent_lines(text: str, indent: str) -> Lines:
    """Return the lines of a text with an indentation. Empty lines get no indentation."""
    return [f"{indent}{line}" if line else line for line in text.removesuffix("\n").split("\n")]


def with_shared_tests(lines: Lines) -> Lines:
    """Merge neighbouring ``if`` blocks that have the same test into one block.

    The caller must make sure that no block changes a variable in the test.
    """
    out: Lines = []
    test = ""
    for line in lines:
        if line.startswith("{{- if "):
            if out and out[-1] == ENDED and line == test:
                del out[-1]
                continue
            test = line
        elif line.startswith("{{- range "):
            test = ""
        out.append(line)
    return out


def without_repeated_reasons(lines: Lines) -> Lines:
    """Return the lines without the comments that repeat an earlier comment."""
    out: Lines = []
    comment: Lines = []
    printed: set[str] = set()
    for line in lines:
        if comment or line.lstrip().startswith("{{- /* "):
            comment.append(line)
            if not line.endswith(" */}}"):
                continue
            text = " ".join(part.strip() for part in comment)
            out += [] if text in printed else comment
            printed.add(text)
            comment = []
        else:
            out.append(line)
    return out


def comment(text: str, indent: str) -> Lines:
    """Return the lines of a template comment, which Helm does not print."""
    first, *remaining = textwrap.wrap(text, COMMENT_WIDTH - len(indent) - len("{{- /*  */}}"))
    lines = [f"{indent}{{{{- /* {first}", *(f"{indent}       {line}" for line in remaining)]
    return [*lines[:-1], f"{lines[-1]} */}}}}"]


# -- presence tests ----------------------------------------------------------------------------------------------------


def presence(node: Node) -> Node:
    """Return the presence test of a node, which is true if the output of the node is not empty.

    For an output that is never empty, return True. For an output that is always empty, return False.
    """
    match node:
        case h.When(test, if_true, if_false):
            true_presence, false_presence = presence(if_true), presence(if_false)
            if true_presence is True and false_presence is True:
                return True
            tests = [
                branch if is_present is True else h.AllOf((branch, is_present))
                for branch, is_present in ((test, true_presence), (h.Not(test), false_presence))
                if is_present is not False
            ]
            return h.AnyOf(tuple(tests)) if len(tests) > 1 else tests[0] if tests else False
        case h.Absent():
            return False
        case h.Items(child) | h.AsText(child):
            return presence(child)
        case h.ForEach(over, body):
            if presence(body) is not True:
                raise TypeError(f"the presence of a ForEach cannot be tested, because its body may be empty: {node!r}")
            return over
        case h.NamedTemplate(node=child) | h.Call(template=h.NamedTemplate(node=child)):
            test = presence(child)
            # The test may use a variable of the named template, so Helm tests the output of the named template.
            return test if isinstance(test, bool) else node
        case h.Let(name, expression, child):
            return remaining_test(presence(child), let_facts(name, expression))
        case h.NotEmpty():
            return True
        case h.Hole():
            return node if type_of(node) in TREES else True
        case str() | int() | None:
            return True
        case dict():
            return _presence_of_any([child for key, child in node.items() if not isinstance(key, h.Comment)])
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
        case h.AllOf(nodes):
            tests = tuple(part for part in (remaining_test(node, facts) for node in nodes) if part is not True)
            return h.AllOf(tests) if len(tests) > 1 else tests[0] if tests else True
        case h.AnyOf(nodes) if any(remaining_test(node, facts) is True for node in nodes):
            return True
    return test


def all_of(*tests: Node) -> Node:
    """Combine several tests with "and". The result contains each condition only once."""
    parts = tuple(dict.fromkeys(part for test in tests for part in parts_of_test(test)))
    return h.AllOf(parts) if len(parts) > 1 else parts[0]


def parts_of_test(test: Node) -> tuple[Node, ...]:
    """Return the conditions that a test combines with "and", or the test itself. Example: (A, B) for "A and B"."""
    return tuple(part for node in test.nodes for part in parts_of_test(node)) if isinstance(test, h.AllOf) else (test,)


def let_facts(name: str, expression: Expression) -> tuple[Node, ...]:
    """Return the tests that are certainly true after the assignment of an expression to a variable.

    If the expression merges maps, and the first map has a constant entry, the variable is never empty. The result is
    then the test that the variable is not empty. For all other expressions, the result is empty.
    """
    lowest = expression.maps[0] if isinstance(expression, h.Merged) else None
    is_never_empty = isinstance(lowest, h.MapOf) and any(
        not isinstance(node, h.Hole) and bool(node) for node in lowest.entries.values()
    )
    return (h.Bound(name, "map"),) if is_never_empty else ()


def branch_test(node: Node) -> Node:
    """Return the test that decides whether a branch of a `When` prints something; None without such a test.

    The printer adds this test to the ``if`` of the branch, instead of a nested ``if``.
    """
    match node:
        case h.When(test, _, h.Absent()) if not depends_only_on(node.if_true, test):
            return test
        case dict() if len(node) == 1:
            [(key, child)] = node.items()
            if isinstance(key, h.Comment):
                return None
            if isinstance(child, h.When):
                return branch_test(child)
            child_test = presence(child) if isinstance(child, (dict, list, tuple)) else True
            includes = any(isinstance(part, (h.NamedTemplate, h.Call)) for part in _nodes_in(child_test))
            return None if isinstance(child_test, bool) or includes else child_test
        case list() if len(node) == 1 and isinstance(node[0], h.When):
            return branch_test(node[0])
    return None


def _nodes_in(node: Node | Record) -> Iterator[Node | Record]:
    yield node
    for child in child_nodes(node):
        yield from _nodes_in(child)


def depends_only_on(node: Node, hole: Node) -> bool:
    """Test whether the value `hole` is the only hole in a node. The printer can write ``with`` around such a node."""
    is_value = isinstance(hole, (h.Value, h.Bound, h.Parameter, h.Default, h.Override)) and type_of(hole) != "boolean"
    return is_value and set(_compare_holes(node, hole)) == {True}


def _compare_holes(node: Node | Record, hole: Node) -> Iterator[bool]:
    """Compare each hole in a node with the given hole. Yield True for an equal hole, and False for a different hole."""
    if node == hole:
        yield True
    elif isinstance(node, h.Hole) and not isinstance(node, (h.Text, h.NotEmpty, h.Items)):
        yield False
    else:
        for child in child_nodes(node):
            yield from _compare_holes(child, hole)


def mentions(node: Node | Record, names: Collection[str]) -> bool:
    """Test whether a node of the object graph uses one of the variables `names`."""
    return any(isinstance(part, h.Bound) and part.name in names for part in _nodes_in(node))


def ends_in_tree(node: Node) -> bool:
    """Test whether the output of a node may end with a map or a list that ``toYaml`` prints.

    The last empty lines of such a map or list may be part of a value, so Helm must not remove these lines.
    """
    match node:
        case h.When(_, if_true, if_false):
            return ends_in_tree(if_true) or ends_in_tree(if_false)
        case h.ForEach(body=child) | h.NamedTemplate(node=child) | h.Call(template=child) | h.Let(body=child):
            return ends_in_tree(child)
        case h.AsText():
            return False  # quotes protect the end of each text
        case h.Items(child) | h.NotEmpty(child) if not isinstance(child, h.AsText):
            return True
        case h.Hole() if not isinstance(node, (h.Items, h.NotEmpty)):
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
        if not isinstance(child, h.ForEach) and presence(child) is True:
            return False
    return False


def _presence_of_any(children: Sequence[Node]) -> Node:
    # One child that is always present is sufficient, even if the presence of another child cannot be tested.
    if not children or any(presence(child) is True for child in children if not isinstance(child, h.ForEach)):
        return True
    tests: list[Node] = []
    for test in map(presence, children):
        if test is not False and test not in tests:
            tests.append(test)
    return tests[0] if len(tests) == 1 else h.AnyOf(tuple(tests))


# -- properties that are the same at each place in a template ----------------------------------------------------------


def is_constant(node: Node) -> bool:
    """Test whether the output of a node does not depend on the values of the chart."""
    return not isinstance(node, h.Hole) or (isinstance(node, h.MapOf) and all(map(is_constant, node.entries.values())))


def has_holes(node: Node) -> bool:
    """Test whether a node of the object graph contains more than plain data, such as a hole, a comment or `ABSENT`."""
    match node:
        case h.Hole() | h.Absent():
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
        case h.Value() | h.Release() | h.File() | h.NamedTemplate(parameters=()):
            return True
        case h.ChartOnly():
            return node.reads_root
        case h.Call(called, arguments):
            return needs_root(called) or any(needs_root(argument) for _, argument in arguments)
    return any(map(needs_root, child_nodes(node)))


# -- neighbours with one test ------------------------------------------------------------------------------------------


def entries_under_one_test(mapping: Mapping[Key, Node]) -> Iterator[tuple[h.When | None, Mapping[Key, Node]]]:
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
            if count < len(entries) and isinstance(last := entries[count][1], h.When) and last.test == test:
                if_false, count = _entry_of(entries[count][0], last.if_false), count + 1
            group = dict(entries[:count])
            yield h.When(test, {key: n.if_true for key, n in group.items() if isinstance(n, h.When)}, if_false), group
        entries = entries[count:]


def items_under_one_test(items: Sequence[Node]) -> Iterator[tuple[h.When | None, Sequence[Node]]]:
    """Group the neighbouring items of a sequence that have the same test. Yield (when, items) for each group.

    The node `when` contains all items of the group. For a group of items without a test, `when` is None. Example of the
    items and the `when` of a group:

        [When(T, 1), When(T, 2)]  ->  When(T, [1, 2])
    """
    for test, neighbours in groupby(items, key=_single_test):
        group = [*neighbours]
        yield (
            (None if test is None else h.When(test, [item.if_true for item in group if isinstance(item, h.When)])),
            group,
        )


def _entry_of(key: Key, node: Node) -> Node:
    """Return the mapping {key: node}. For a `When`, move the key into both branches.

    For example, the result for the key "a" and the node When(T, 1, 2) is When(T, {"a": 1}, {"a": 2}).
    """
    if isinstance(node, h.When):
        return h.When(node.test, _entry_of(key, node.if_true), _entry_of(key, node.if_false))
    return node if node is ABSENT else {key: node}


def _single_test(node: Node) -> Node:
    """Return the test of a `When` that has no second branch; None for any other node."""
    return node.test if isinstance(node, h.When) and node.if_false is ABSENT else None


# -- context -----------------------------------------------------------------------------------------------------------


class Context(Record):
    """A place in a template, for example the body of a ``range``, at which tfgen prints a node of the object graph.

    The Go expression for a value depends on this place. In the body of a ``range``, the dot is the current item, so the
    expression for the image is ``$.Values.image`` instead of ``.Values.image``:

        Context("mnist").root                            ->  (empty)    at the top of a template
        Context("mnist").range_body.root                 ->  $          in the body of a range
        Context("mnist", ("role",)).root                 ->  .root      in a named template with the parameter role
        Context("mnist", ("role",)).range_body.root      ->  $.root     in the body of a range in this named template

    Attributes:
        chart: the name of the chart. The full name of each named template begins with this name.
        parameters: the parameters of the printed named template; empty for all other templates. The argument of a named
            template with parameters is a ``dict`` with the parameters. If the named template uses the root context of
            Helm, such as ``.Values``, the ``dict`` contains the root context under the key ``root``.
        dot: the expression for the dot at the top of the template: ``.``, or ``$`` in the body of a ``range`` or
            ``with``.
        variables: the Go variables that contain the output of named templates. Example: {"mnist.run": "$run"}.
        names: the Go variable of each name that a `Let`, a loop or a `Guard` around the printed node defines. Example:
            {"storage": "$storage"}.
        declared: the Go variables that the lines around the printed node declare, besides those in `variables`.
        subject: the node whose value is the dot in the body of a ``with``; None outside of such a body.
        facts: the tests that are true at the printed node, for example the test of an ``if`` around the node.
    """

    chart: str
    parameters: tuple[str, ...] = ()
    dot: str = "."
    variables: Mapping[str, str] = EMPTY
    names: Mapping[str, str] = EMPTY
    declared: tuple[str, ...] = ()
    subject: Node = None
    facts: tuple[Node, ...] = ()

    @property
    def range_body(self) -> Context:
        """Return the context of the body of a ``range``. In the body, ``$`` is the dot at the top of the template."""
        return self.replaced(dot="$", subject=None)

    def with_facts(self, *tests: Node) -> Context:
        """Return a copy of this context in which the given tests are also true."""
        return self.replaced(facts=(*self.facts, *(part for test in tests for part in parts_of_test(test))))

    def with_names(self, *names: str) -> Context:
        """Return a copy of this context in which each name has a new Go variable.

        Go accepts a second declaration of a variable, and the following lines then read the second variable. So the new
        variable differs from the variables of all names that are visible here: `$labels`, then `$labels2`.
        """
        declared, variables = self.declared, dict(self.names)
        for name in names:
            used = (*declared, *self.variables.values())
            texts = chain([f"${name}"], (f"${name}{number}" for number in count(2)))
            variables[name] = next(text for text in texts if text not in used)
            declared = (*declared, variables[name])
        # a test of an outer name with the same text is not valid here
        facts = tuple(test for test in self.facts if not mentions(test, names))
        return self.replaced(names=variables, declared=declared, facts=facts)

    def variable(self, name: str) -> str:
        """Return the Go variable of a name of the object graph, such as `$storage`."""
        return self.names.get(name, f"${name}")

    def range_body_of(self, entries: h.ForEach | h.CheckedMap | h.Filtered | h.JoinEntries) -> Context:
        """Return the context of the body of a ``range`` over the entries of a map.

        In the body, the variables of the ``range`` refer to the key and the value of the current entry.
        """
        return self.range_body.with_names(entries.key, entries.item)

    @property
    def root(self) -> str:
        """Return the text before ``.Values`` at this place: empty, ``$``, ``.root`` or ``$.root``."""
        return f"{self.parameter_prefix}.root" if self.parameters else self.parameter_prefix

    @property
    def parameter_prefix(self) -> str:
        """Return the text before a parameter such as ``.role``.

        The text is ``$`` in the body of a ``range`` or ``with``. Outside of such a body, the text is empty.
        """
        return self.dot.rstrip(".")

    def full_name(self, name: str) -> str:
        """Return the full name of a named template. Example: "mnist.run" for the name "run" in the chart mnist."""
        return f"{self.chart}.{name}"

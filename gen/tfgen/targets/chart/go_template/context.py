"""The place in a template at which tfgen prints a node of the object graph.

The Go expression for a value depends on this place. For example, ``.Values.image`` is an expression for the image. In
the body of a ``range``, the dot is the current item, so the expression is ``$.Values.image``:

    Context("mnist").root                            ->  (empty)    at the top of a template
    Context("mnist").range_body.root                 ->  $          in the body of a range
    Context("mnist", ("role",)).root                 ->  .root      in a named template with the parameter role
    Context("mnist", ("role",)).range_body.root      ->  $.root     in the body of a range in this named template
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Self

from tfgen.graph.holes import CheckedMap, Filtered, ForEach, JoinEntries, Node
from tfgen.graph.provenance import Bindings, bind, bind_entry
from tfgen.record import EMPTY, Record
from tfgen.targets.chart.go_template.go_text import Lines
from tfgen.targets.chart.go_template.presence import mentions, parts_of_test


class Context(Record):
    """A place in a template, for example the body of a ``range``, at which tfgen prints a node of the object graph.

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
        bindings: the nodes to which the Go variables and the parameters at this place refer. A `Let` or a ``range``
            around the printed node assigns a variable. A call of the named template sets a parameter.
        reason: the comment above the printed mapping entry, or above its nearest parent that has a comment.
        template_doc: the sentence that describes the printed named template; empty outside of named templates.
    """

    chart: str
    parameters: tuple[str, ...] = ()
    dot: str = "."
    variables: Mapping[str, str] = EMPTY
    names: Mapping[str, str] = EMPTY
    declared: tuple[str, ...] = ()
    subject: Node = None
    facts: tuple[Node, ...] = ()
    bindings: Bindings = EMPTY
    reason: str = ""
    template_doc: str = ""

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
            variables[name] = next(text for text in _variable_texts(name) if text not in used)
            declared = (*declared, variables[name])
        # a test of an outer name with the same text is not valid here
        facts = tuple(test for test in self.facts if not mentions(test, names))
        return self.replaced(names=variables, declared=declared, facts=facts)

    def variable(self, name: str) -> str:
        """Return the Go variable of a name of the object graph, such as `$storage`."""
        return self.names.get(name, f"${name}")

    def with_binding(self, name: str, node: Node) -> Context:
        """Return a copy of this context in which the variable `name` refers to a node of the object graph."""
        return self.with_names(name).replaced(bindings=bind(self.bindings, name, node))

    def range_body_of(self, entries: ForEach | CheckedMap | Filtered | JoinEntries) -> Context:
        """Return the context of the body of a ``range`` over the entries of a map.

        In the body, the variables of the ``range`` refer to the key and the value of the current entry.
        """
        bindings = bind_entry(self.bindings, entries)
        return self.range_body.with_names(entries.key, entries.item).replaced(bindings=bindings)

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


def _variable_texts(name: str) -> Iterator[str]:
    yield f"${name}"
    yield from (f"${name}{number}" for number in count(2))


class Line(str):
    """A line of a template, with the node of the object graph that the line prints, and the context of the node."""

    __slots__ = ("context", "node")
    context: Context
    node: Node | Record

    @classmethod
    def of(cls, text: str, node: Node | Record, context: Context) -> Self:
        """Create the `Line` with the given text, which prints the node `node` at the place `context`."""
        line = cls(text)
        line.node, line.context = node, context
        return line

    def with_text(self, text: str) -> Line:
        """Return a line with a different text for the same node."""
        return Line.of(text, self.node, self.context)


def lines_of(node: Node | Record, lines: Lines, context: Context) -> Lines:
    """Convert the plain strings in `lines` to `Line` objects with the given node and context.

    A line that already is a `Line` keeps its own node and context.
    """
    return [line if isinstance(line, Line) else Line.of(line, node, context) for line in lines]


def with_text(line: str, text: str) -> str:
    """Return a line with a different text. For a `Line`, the result has the same node and context as the old line."""
    return line.with_text(text) if isinstance(line, Line) else text

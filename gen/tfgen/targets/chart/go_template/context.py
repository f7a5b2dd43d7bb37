"""The context of a node that a template prints: the dot, the variables, and the tests that are true at the node.

Context("mnist", ("role",)).root             ->  .root      in a named part with parameters, the dot is a dict
Context("mnist", ("role",)).range_body.root  ->  $.root     in the body of a range, the dot is different
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from tfgen.graph.holes import Entries, ForEach, Node
from tfgen.graph.provenance import Bindings, bind, bind_entry
from tfgen.record import EMPTY, Record
from tfgen.targets.chart.go_template.go_text import Lines
from tfgen.targets.chart.go_template.presence import parts_of_test


class Context(Record):
    """The context in which a template prints a node.

    Attributes:
        chart: the name of the chart, which is the prefix of the names of helpers.
        parameters: the parameters of the printed named part. With parameters, the dot is a ``dict``, which contains the
            parameters, and the root context under the key ``root``.
        dot: the expression for the dot of the template or named part: ``.``, or ``$`` in the body of a ``range``.
        variables: the variables that contain the output of a helper, by the full name of the helper.
        subject: the node that the dot refers to in the body of a ``with``; None outside of such a body.
        facts: the tests that are true at the printed node, because an ``if`` around the node contains the tests.
        bindings: for each variable of the object graph, the node that the variable refers to.
        reason: the comment above the printed mapping entry, or above its nearest parent that has a comment.
        part: the sentence that describes the printed named part; empty outside of named parts.
    """

    chart: str
    parameters: tuple[str, ...] = ()
    dot: str = "."
    variables: Mapping[str, str] = EMPTY
    subject: Node = None
    facts: tuple[Node, ...] = ()
    bindings: Bindings = EMPTY
    reason: str = ""
    part: str = ""

    @property
    def range_body(self) -> Context:
        """Return the context of the body of a ``range``."""
        return self.replaced(dot="$", subject=None)

    def with_facts(self, *tests: Node) -> Context:
        """Return a copy of this context in which the given tests are also true."""
        return self.replaced(facts=(*self.facts, *(part for test in tests for part in parts_of_test(test))))

    def binding(self, name: str, node: Node) -> Context:
        """Return a copy of this context with an additional variable, which refers to a node."""
        return self.replaced(bindings=bind(self.bindings, name, node))

    def binding_entry(self, entries: ForEach | Entries) -> Context:
        """Return the context of the body of a ``range`` over the entries of a map."""
        return self.range_body.replaced(bindings=bind_entry(self.bindings, entries))

    @property
    def root(self) -> str:
        """Return the root context as the text before ``.Values``: empty, ``$``, ``.root`` or ``$.root``."""
        return f"{self.base}.root" if self.parameters else self.base

    @property
    def base(self) -> str:
        """Return the text to write before ``.NAME`` for a parameter: empty, or ``$`` in the body of a ``range``."""
        return self.dot.rstrip(".")

    def full_name(self, name: str) -> str:
        """Return the full name of a helper, which begins with the name of the chart."""
        return f"{self.chart}.{name}"


class Line(str):
    """A line of a template, with the node that the line prints, and the context of the node."""

    __slots__ = ("context", "node")
    context: Context
    node: Node | Record

    @classmethod
    def of(cls, text: str, node: Node | Record, context: Context) -> Self:
        """Create the line that prints a node."""
        line = cls(text)
        line.node, line.context = node, context
        return line

    def with_text(self, text: str) -> Line:
        """Return a line with a different text for the same node."""
        return Line.of(text, self.node, self.context)


def lines_of(node: Node | Record, lines: Lines, context: Context) -> Lines:
    """Return lines that all have a node. Lines without a node get the given node and context."""
    return [line if isinstance(line, Line) else Line.of(line, node, context) for line in lines]


def with_text(line: str, text: str) -> str:
    """Return a line with a different text. If the old line has a node, the new line has the same node."""
    return line.with_text(text) if isinstance(line, Line) else text

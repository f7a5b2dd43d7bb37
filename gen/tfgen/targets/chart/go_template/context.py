"""The context of a printed node in a template: the dot, the variables, and the tests that are true at the node.

Context("mnist", ("role",)).root             ->  .root      the dot of a part with parameters is a dict
Context("mnist", ("role",)).range_body.root  ->  $.root     a range moves the dot
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
        parameters: the parameters of the printed part. With parameters, the dot is a ``dict`` of the parameters, and
            the key ``root`` has the root context.
        dot: the notation of this context: ``.``, or ``$`` in the body of a ``range``.
        variables: the variable with the output of a helper, by the full name of the helper.
        subject: the node at the dot in the body of a ``with``.
        facts: the tests that are true at this place, because an ``if`` around the node contains them.
        bindings: the nodes that the names of the graph refer to.
        reason: the comment above the printed entry, or above the nearest parent with a comment.
        part: the sentence about the printed part; empty outside of named parts.
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
        """Return the context in which the tests are true."""
        return self.replaced(facts=(*self.facts, *(part for test in tests for part in parts_of_test(test))))

    def binding(self, name: str, node: Node) -> Context:
        """Return the context in which a name refers to a node."""
        return self.replaced(bindings=bind(self.bindings, name, node))

    def binding_entry(self, entries: ForEach | Entries) -> Context:
        """Return the context of the body of a ``range`` over the entries of a map."""
        return self.range_body.replaced(bindings=bind_entry(self.bindings, entries))

    @property
    def root(self) -> str:
        """Return the text before ``.Values``: empty, ``$`` or ``.root``."""
        return f"{self.base}.root" if self.parameters else self.base

    @property
    def base(self) -> str:
        """Return the text before ``.NAME`` of a parameter: empty, or ``$`` in the body of a ``range``."""
        return self.dot.rstrip(".")

    def full_name(self, name: str) -> str:
        """Return the name of a helper, with the prefix of the chart."""
        return f"{self.chart}.{name}"


class Line(str):
    """A line of a template, with the node that the line prints and the context of the node."""

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
    """Assign a node to lines without a node."""
    return [line if isinstance(line, Line) else Line.of(line, node, context) for line in lines]


def with_text(line: str, text: str) -> str:
    """Replace the text of a line. A line with a node keeps its node."""
    return line.with_text(text) if isinstance(line, Line) else text

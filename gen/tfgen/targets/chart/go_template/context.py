"""Where in a template something is printed: what the dot is there, which variables there are, and what is known.

Context("mnist", ("role",)).root         ->  .root      a part with parameters has a dict at its dot
Context("mnist", ("role",)).inside.root  ->  $.root     and a range moves the dot
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
    """Where something is printed.

    Attributes:
        chart: the chart's name, the prefix of its helpers' names.
        parameters: of the part whose text is printed, where it has some: the dot is a ``dict`` of them there, and the
            root context is under ``root`` in it.
        dot: how that context is written here: ``.``, or ``$`` where a ``range`` has moved the dot.
        variables: by a helper's full name, the variable that has what it prints here.
        subject: what a ``with`` around has made the dot.
        known: the tests that are true here.
        bindings: the nodes that the names of the graph refer to here.
        reason: the comment above the entry that is printed, or above the nearest entry around it.
        part: the sentence about the named part that is printed; empty outside of named parts.
    """

    chart: str
    parameters: tuple[str, ...] = ()
    dot: str = "."
    variables: Mapping[str, str] = EMPTY
    subject: Node = None
    known: tuple[Node, ...] = ()
    bindings: Bindings = EMPTY
    reason: str = ""
    part: str = ""

    @property
    def inside(self) -> Context:
        """The context of the body of a ``range``."""
        return self.replaced(dot="$", subject=None)

    def knowing(self, *tests: Node) -> Context:
        """The context where the tests are true."""
        return self.replaced(known=(*self.known, *(part for test in tests for part in parts_of_test(test))))

    def binding(self, name: str, node: Node) -> Context:
        """Return the context in which a name refers to a node."""
        return self.replaced(bindings=bind(self.bindings, name, node))

    def binding_entry(self, entries: ForEach | Entries) -> Context:
        """Return the context of the body of a ``range`` over the entries of a map."""
        return self.inside.replaced(bindings=bind_entry(self.bindings, entries))

    @property
    def root(self) -> str:
        """The root context, as what stands before ``.Values``."""
        return f"{self.base}.root" if self.parameters else self.base

    @property
    def base(self) -> str:
        """The dot, as what stands before the name of a parameter, with its own dot."""
        return self.dot.rstrip(".")

    def full_name(self, name: str) -> str:
        """The name of a helper, with the chart's before it."""
        return f"{self.chart}.{name}"


class Line(str):
    """A line of a template, with the node that the line prints and the context of the node."""

    __slots__ = ("context", "node")
    context: Context
    node: Node | Record

    @classmethod
    def of(cls, text: str, node: Node | Record, context: Context) -> Self:
        """Return a text as the line of a node."""
        line = cls(text)
        line.node, line.context = node, context
        return line

    def with_text(self, text: str) -> Line:
        """Return a different text as the line of the same node."""
        return Line.of(text, self.node, self.context)


def lines_of(node: Node | Record, lines: Lines, context: Context) -> Lines:
    """Return lines of a node. A line that already has a node keeps that node."""
    return [line if isinstance(line, Line) else Line.of(line, node, context) for line in lines]


def with_text(line: str, text: str) -> str:
    """Return a different text as the line of the node of a line, if the line has a node."""
    return line.with_text(text) if isinstance(line, Line) else text

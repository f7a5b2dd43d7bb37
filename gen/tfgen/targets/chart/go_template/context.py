"""The context of a node of the object graph: the dot, the variables, and the tests that are true at the node.

Context("mnist", ("role",)).root             ->  .root      in a named template with parameters, the dot is a dict
Context("mnist", ("role",)).range_body.root  ->  $.root     in the body of a range, the dot is different
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from tfgen.graph.holes import CheckedMap, ForEach, Node
from tfgen.graph.provenance import Bindings, bind, bind_entry
from tfgen.record import EMPTY, Record
from tfgen.targets.chart.go_template.go_text import Lines
from tfgen.targets.chart.go_template.presence import parts_of_test


class Context(Record):
    """The context in which a template prints a node of the object graph.

    Attributes:
        chart: the name of the chart, which is the prefix of the names of its named templates.
        parameters: the parameters of the printed named template. With parameters, the dot is a ``dict``, which contains
            the parameters, and the root context under the key ``root``.
        dot: the expression for the dot outside of any ``range``: ``.``, or ``$`` in the body of a ``range``.
        variables: full name of a named template -> Go variable that contains the output of the named template.
        subject: the node whose value is the dot in the body of a ``with``; None outside of such a body.
        facts: the tests that are true at the printed node, because an ``if`` around the node contains the tests.
        bindings: name that a `Let` or a ``range`` around the node assigns -> node whose value has this name.
        reason: the comment above the printed mapping entry, or above its nearest parent that has a comment.
        template_doc: the sentence that describes the printed named template; empty outside of named templates.
    """

    chart: str
    parameters: tuple[str, ...] = ()
    dot: str = "."
    variables: Mapping[str, str] = EMPTY
    subject: Node = None
    facts: tuple[Node, ...] = ()
    bindings: Bindings = EMPTY
    reason: str = ""
    template_doc: str = ""

    @property
    def range_body(self) -> Context:
        """Return the context of the body of a ``range``."""
        return self.replaced(dot="$", subject=None)

    def with_facts(self, *tests: Node) -> Context:
        """Return a copy of this context in which the given tests are also true."""
        return self.replaced(facts=(*self.facts, *(part for test in tests for part in parts_of_test(test))))

    def binding(self, name: str, node: Node) -> Context:
        """Return a copy of this context in which the variable `name` refers to a node of the object graph."""
        return self.replaced(bindings=bind(self.bindings, name, node))

    def binding_entry(self, entries: ForEach | CheckedMap) -> Context:
        """Return the context of the body of a ``range`` over map entries, with the variables that ``range`` assigns."""
        return self.range_body.replaced(bindings=bind_entry(self.bindings, entries))

    @property
    def root(self) -> str:
        """Return the root context as the text before ``.Values``: empty, ``$``, ``.root`` or ``$.root``."""
        return f"{self.parameter_prefix}.root" if self.parameters else self.parameter_prefix

    @property
    def parameter_prefix(self) -> str:
        """Return the text before a parameter: empty for ``.NAME``; ``$`` for ``$.NAME`` in the body of a ``range``."""
        return self.dot.rstrip(".")

    def full_name(self, name: str) -> str:
        """Return the full name of the named template `name`. The full name begins with the name of the chart."""
        return f"{self.chart}.{name}"


class Line(str):
    """A line of a template, with the node of the object graph that the line prints, and the context of the node."""

    __slots__ = ("context", "node")
    context: Context
    node: Node | Record

    @classmethod
    def of(cls, text: str, node: Node | Record, context: Context) -> Self:
        """Create the `Line` with the text that prints `node` in `context`."""
        line = cls(text)
        line.node, line.context = node, context
        return line

    def with_text(self, text: str) -> Line:
        """Return a line with a different text for the same node."""
        return Line.of(text, self.node, self.context)


def lines_of(node: Node | Record, lines: Lines, context: Context) -> Lines:
    """Return the lines, each as a `Line`. The lines that are plain strings get `node` and `context`."""
    return [line if isinstance(line, Line) else Line.of(line, node, context) for line in lines]


def with_text(line: str, text: str) -> str:
    """Return a line with a different text. If the old line is a `Line`, the new line has the same node and context."""
    return line.with_text(text) if isinstance(line, Line) else text

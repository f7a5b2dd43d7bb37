"""Where in a template something is printed: what the dot is there, which variables there are, and what is known.

Context("mnist", ("role",)).root         ->  .root      a part with parameters has a dict at its dot
Context("mnist", ("role",)).inside.root  ->  $.root     and a range moves the dot
"""

from __future__ import annotations

from collections.abc import Mapping

from tfgen.graph.holes import Node
from tfgen.record import EMPTY, Record
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
    """

    chart: str
    parameters: tuple[str, ...] = ()
    dot: str = "."
    variables: Mapping[str, str] = EMPTY
    subject: Node = None
    known: tuple[Node, ...] = ()

    @property
    def inside(self) -> Context:
        """The context of the body of a ``range``."""
        return self.replaced(dot="$", subject=None)

    def knowing(self, *tests: Node) -> Context:
        """The context where the tests are true."""
        return self.replaced(known=(*self.known, *(part for test in tests for part in parts_of_test(test))))

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

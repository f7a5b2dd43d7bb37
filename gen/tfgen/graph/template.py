"""A template of the chart: the objects of one role or concern."""

from __future__ import annotations

from tfgen.graph.holes import Node
from tfgen.record import Record


class Template(Record):
    """The objects of one role or concern.

    Attributes:
        name: the template file's name in the chart, without its ending.
        objects: each an object, a condition on one, or an `Each` of them.
        chart_only: whether only the chart has it: a test of ``helm test``.
        outlives: whether it stays where the job is retired.
    """

    name: str
    objects: tuple[Node, ...]
    chart_only: bool = False
    outlives: bool = False

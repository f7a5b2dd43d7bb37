"""A template of the chart: one object of a job, or one for each entry of a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tfgen.graph.fill import Filler, Scope, cached_by_values, compile_entries, compile_filler
from tfgen.graph.holes import ABSENT, File, ForEach, Let, Node, When
from tfgen.graph.reads import reads
from tfgen.record import Record


class Template(Record):
    """One object, named by what it is in the job: another run or release gives the object another name, not the file.

    Attributes:
        name: the name of its file in the chart and in the overlays, without the ending: ``worker``, ``finisher-role``.
        node: the object, a condition on it, or an `ForEach` of objects.
        chart_only: whether only the chart has it: a test of ``helm test``.
        outlives: whether it stays where the job is retired.
    """

    name: str
    node: Node
    chart_only: bool = False
    outlives: bool = False

    @property
    def files(self) -> Mapping[str, File]:
        """The files that the data of a ConfigMap are, by their keys, which are their names; none of another object."""
        node = self.node
        while isinstance(node, (When, Let)):
            node = node.if_true if isinstance(node, When) else node.body
        data = node.get("data", {}) if isinstance(node, dict) else {}
        return {key: part for key, part in data.items() if isinstance(part, File)}

    def objects(self, scope: Scope) -> Sequence[tuple[str, dict[str, Any]]]:
        """The plain objects by their files' names: those of an `ForEach` have the entry's key behind them."""
        filled: Sequence[tuple[str, dict[str, Any]]] = self._filler(scope)
        return filled

    @cached_property
    def _filler(self) -> Filler:
        node = self.node
        if isinstance(node, ForEach):
            entries = compile_entries(node)
            return cached_by_values(
                reads(node), lambda scope: [(f"{self.name}-{key}", item) for key, item in entries(scope)]
            )
        one = compile_filler(node)
        return cached_by_values(
            reads(node), lambda scope: [(self.name, item) for item in [one(scope)] if item is not ABSENT]
        )

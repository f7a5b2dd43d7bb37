"""A template of the chart: a single object, or an object for each entry of a map, such as a claim for each volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tfgen.graph.fill import Filler, Scope, cached_by_values, compile_entries, compile_filler
from tfgen.graph.holes import ABSENT, File, ForEach, Let, Node, When
from tfgen.graph.reads import reads
from tfgen.record import Record


class Template(Record):
    """An object or a `ForEach` of objects, with a file name that is the same for all runs and Helm releases.

    Attributes:
        name: the name of the file in the chart and in the overlays, without the extension: ``worker``,
            ``finisher-role``.
        node: the object, an object with a condition, or a `ForEach` of objects.
        chart_only: whether only the chart contains the object, because the object is a test for ``helm test``.
        survives_retirement: whether a retired job keeps the object, such as a claim.
    """

    name: str
    node: Node
    chart_only: bool = False
    survives_retirement: bool = False

    @property
    def files(self) -> Mapping[str, File]:
        """The files in the data of a ConfigMap, by the key in the data. Empty for other objects."""
        node = self.node
        while isinstance(node, (When, Let)):
            node = node.if_true if isinstance(node, When) else node.body
        data = node.get("data", {}) if isinstance(node, dict) else {}
        return {key: part for key, part in data.items() if isinstance(part, File)}

    def objects(self, scope: Scope) -> Sequence[tuple[str, dict[str, Any]]]:
        """Return (file name, plain object) for each object. For a `ForEach`, the file name ends with the map key."""
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
        fill_object = compile_filler(node)
        return cached_by_values(
            reads(node), lambda scope: [(self.name, item) for item in [fill_object(scope)] if item is not ABSENT]
        )

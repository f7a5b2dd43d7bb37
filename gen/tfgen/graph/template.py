"""A template of the chart: a single object, or an object for each entry of a map, such as a claim for each volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tfgen.graph.fill import Filler, Scope, compile_entries, compile_filler
from tfgen.graph.holes import ABSENT, File, ForEach, Let, Node, When
from tfgen.record import Record


class Template(Record):
    """A template of the chart, which renders one object, or one object for each entry of a map.

    Attributes:
        name: the name of the file in the chart and in the overlays, without the extension: ``worker``,
            ``finisher-role``. The name is the same for all runs and Helm releases.
        node: the object. A `When` contains an object that exists only under a condition. A `ForEach` contains an object
            for each entry of a map.
        chart_only: whether only the chart contains the object, because the object is a test for ``helm test``.
        survives_retirement: whether a retired job keeps the object, such as a claim.
    """

    name: str
    node: Node
    chart_only: bool = False
    survives_retirement: bool = False

    @property
    def files(self) -> Mapping[str, File]:
        """The files in ``data`` of a ConfigMap, by key. The mapping is empty for all other objects."""
        node = self.node
        while isinstance(node, (When, Let)):
            node = node.if_true if isinstance(node, When) else node.body
        data = node.get("data", {}) if isinstance(node, dict) else {}
        return {key: part for key, part in data.items() if isinstance(part, File)}

    def objects(self, scope: Scope) -> Sequence[tuple[str, dict[str, Any]]]:
        """Fill the template with the values of `scope`. Return the file name and the plain object of each object.

        Example: [("worker", {"kind": "StatefulSet", ...})]. A `ForEach` gives a file name for each entry of the map,
        such as ``claim-model`` and ``claim-data``.
        """
        filled: Sequence[tuple[str, dict[str, Any]]] = self._filler(scope)
        return filled

    @cached_property
    def _filler(self) -> Filler:
        if isinstance(self.node, ForEach):
            entries = compile_entries(self.node)
            return lambda scope: [(f"{self.name}-{key}", item) for key, item in entries(scope)]
        fill_object = compile_filler(self.node)
        return lambda scope: [(self.name, item) for item in [fill_object(scope)] if item is not ABSENT]

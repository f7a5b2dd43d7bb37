"""The types that a tunable value has, in the schema and in the graph, and the range of an integer."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

ValueType: TypeAlias = Literal["string", "integer", "boolean", "quantity", "map", "list"]
"""A quantity is an amount as Kubernetes writes it: 2, 500m, 4Gi."""

TREES: Final = ("map", "list")
"""The types whose value has parts."""

MAX_INTEGER: Final = 2**53 - 1
"""Helm and kustomize pass numbers through float64, which is exact up to here."""

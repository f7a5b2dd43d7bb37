"""The types of tunable values in the schema and in the object graph, and the largest integer."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

ValueType: TypeAlias = Literal["string", "integer", "boolean", "quantity", "map", "list"]
"""Type of a tunable value. A quantity is an amount in the notation of Kubernetes: 2, 500m, 4Gi."""

TREES: Final = ("map", "list")
"""The types whose values are mappings or lists."""

MAX_INTEGER: Final = 2**53 - 1
"""Largest integer value. Helm and kustomize convert numbers to float64, which is exact only up to this integer."""

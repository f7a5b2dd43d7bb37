"""The types that a tunable value has, in the schema and in the graph."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["string", "integer", "boolean", "quantity", "map", "list"]
"""A quantity is an amount as Kubernetes writes it: 2, 500m, 4Gi."""

TREES: Final = ("map", "list")
"""The types whose value has parts."""

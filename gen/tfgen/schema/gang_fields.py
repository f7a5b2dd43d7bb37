"""Table of the keys of ``gang`` that only some schedulers use. All schedulers use the keys outside of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Field: TypeAlias = Literal[
    "apiVersion",
    "minAvailable",
    "minResources",
    "preferredTopology",
    "priorityClassName",
    "queue",
    "requiredTopology",
    "scheduleTimeoutSeconds",
]
"""A key of ``gang`` that not every scheduler uses."""

FIELDS: Final[Mapping[str, frozenset[Field]]] = {
    "volcano": frozenset(("minAvailable", "minResources", "priorityClassName", "queue")),
    "kube-batch": frozenset(("minAvailable", "priorityClassName", "queue")),
    "coscheduling": frozenset(("minAvailable", "minResources", "scheduleTimeoutSeconds")),
    "kubernetes": frozenset(("apiVersion", "minAvailable", "priorityClassName", "requiredTopology")),
    "kueue": frozenset(("preferredTopology", "priorityClassName", "queue", "requiredTopology")),
}
"""The keys of ``gang`` that each scheduler uses, without the keys that all schedulers use."""

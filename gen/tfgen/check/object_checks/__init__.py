"""Checks that the objects of a job fit together, with one concern in each module, and the table of all checks.

The objects that tfgen renders fit together, unless a `podTemplate` removes a field that a different object needs, or
tfgen has a defect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.check.object_checks import cluster, gang, names, ports, references, selectors
from tfgen.check.object_checks.fault import Check, Fault, Objects

CHECKS: Final[tuple[Check, ...]] = (
    cluster.check,
    gang.check,
    names.check,
    ports.check,
    references.check,
    selectors.check,
)


def faults(objects: Objects) -> Iterator[Fault]:
    """Yield each fault that the checks in `CHECKS` find in the objects of one environment."""
    return (fault for check in CHECKS for fault in check(objects))

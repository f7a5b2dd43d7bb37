"""Whether a job's objects fit together: one concern a module, and the table of all checks.

    faults(Objects(plain_objects(data, "prod")))  ->  [Fault(service, ("spec", "selector"), "it selects no pod ...")]

They do by construction. But a `podTemplate` may remove what another object relies on, and tfgen may have a defect.
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
    """What all checks find."""
    return (fault for check in CHECKS for fault in check(objects))

"""The tunables as holes.

value("roles.worker.replicas")     -> Value("roles.worker.replicas", "integer")
of_role("worker", "image")         -> Default(Value("roles.worker.image", ...), Value("image", ...))
own("worker", "resources.cpu")     -> Bound("role", "quantity", "resources.cpu")
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import Bound, Default, Value
from tfgen.job.training_job import RoleName
from tfgen.schema import tunables

ROLE: Final = "role"
"""The name that a role's document binds to the role's own values."""


@cache
def value(path: str) -> Value:
    """The hole of a values path.

    Raises:
        LookupError: the job schema has no such tunable.
    """
    return Value(path, tunables.at(path.split(".")).type)


def own(role: RoleName, field: str) -> Bound:
    """A role's own field, inside the role's document."""
    return Bound(ROLE, value(f"roles.{role}.{field}").type, field)


def own_or_job(role: RoleName, field: str) -> Default:
    """A field that a role may say for itself, inside the role's document: the role's where set, else the job's."""
    return Default(own(role, field), value(field))


def of_role(role: RoleName, field: str) -> Default:
    """The same outside the role's document."""
    return Default(value(f"roles.{role}.{field}"), value(field))

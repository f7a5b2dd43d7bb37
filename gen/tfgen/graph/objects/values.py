"""The tunables as holes.

value("roles.worker.replicas")     -> Value("roles.worker.replicas", "integer")
of_role("worker", "image")         -> Default(Value("roles.worker.image", ...), Value("image", ...))
own("resources.cpu")               -> Parameter("values", "quantity", "resources.cpu")
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import Bound, Default, Entries, Parameter, Value
from tfgen.job.training_job import RoleName
from tfgen.schema import tunables
from tfgen.value_type import ValueType

ROLE: Final = Parameter("role")
"""The name of the role, in a part that several roles have."""

ROLE_VALUES: Final = Parameter("values", "map")
"""The role's own values, in such a part."""


@cache
def value(path: str) -> Value:
    """The hole of a values path.

    Raises:
        LookupError: the job schema has no such tunable.
    """
    return Value(path, tunables.at(path.split(".")).type)


@cache
def own(field: str) -> Parameter:
    """A role's own field, in a part that several roles have."""
    return ROLE_VALUES.replaced(type=value(f"roles.worker.{field}").type, path=field)


@cache
def own_or_job(field: str) -> Default:
    """A field that a role may say for itself, in such a part: the role's where set, else the job's."""
    return Default(own(field), value(field))


def of_role(role: RoleName, field: str) -> Default:
    """The same of one role, elsewhere."""
    return Default(value(f"roles.{role}.{field}"), value(field))


EACH_ROLE: Final = Entries(Value("roles", "map"), "role", "values")
"""The roles one by one, for a guard: the name of each, and its own values."""

ROLE_NAME: Final = Bound(EACH_ROLE.key)


def of_each(field: str, value_type: ValueType) -> Bound:
    """A field of each role."""
    return Bound(EACH_ROLE.item, value_type, field)

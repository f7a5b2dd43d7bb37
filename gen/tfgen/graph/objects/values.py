"""The tunables as holes.

value("roles.worker.replicas")     -> Value("roles.worker.replicas", "integer")
of_role("worker", "image")         -> Default(Value("roles.worker.image", ...), Value("image", ...))
own("resources.cpu")               -> Parameter("values", "quantity", "resources.cpu")
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import AsText, Bound, ChartOnly, Default, Entries, Expression, Named, Parameter, Value, type_of
from tfgen.job.training_job import RoleName
from tfgen.schema import tunables
from tfgen.value_type import ValueType

ROLE: Final = Parameter("role")
"""The name of the role, in a part that several roles have."""

ROLE_VALUES: Final = Parameter("values", "map")
"""The role's own values, in such a part."""


TEXT: Final = Named(
    "text",
    "A text. A number in the values, such as the 2 of --set run=2, is written in all its digits.",
    ChartOnly('{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}'),
)

TEXTS: Final = Named(
    "texts",
    "A map or list of texts, with numbers and booleans as texts. A map in it stays a map.",
    ChartOnly("""\
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}"""),
)


@cache
def value(path: str) -> Value | AsText:
    """The hole of a values path.

    Raises:
        LookupError: the job schema has no such tunable.
    """
    tunable = tunables.at(path.split("."))
    hole = Value(path, tunable.type)
    return as_text(hole) if tunable.chart_types else hole


@cache
def role_value(field: str) -> Parameter | AsText:
    """A role's own field, in a part that several roles have."""
    tunable = tunables.at(("roles", "worker", *field.split(".")))
    hole = ROLE_VALUES.replaced(type=tunable.type, path=field)
    return as_text(hole) if tunable.chart_types else hole


@cache
def role_or_job_value(field: str) -> Default | AsText:
    """A field that a role may say for itself, in such a part: the role's where set, else the job's."""
    role, job = role_value(field), value(field)
    return (
        as_text(Default(role.tree, job.tree))
        if isinstance(role, AsText) and isinstance(job, AsText)
        else Default(role, job)
    )


def as_text(tree: Expression) -> AsText:
    """A text, map or list, with each number and boolean in it as a text."""
    return AsText(tree, TEXT if type_of(tree) == "string" else TEXTS)


def value_for_role(role: RoleName, field: str) -> Default:
    """The same of one role, elsewhere."""
    return Default(value(f"roles.{role}.{field}"), value(field))


ROLE_ENTRIES: Final = Entries(Value("roles", "map"), "role", "values")
"""The roles one by one, for a guard: the name of each, and its own values."""

ROLE_NAME: Final = Bound(ROLE_ENTRIES.key)


def role_entry_value(field: str, value_type: ValueType) -> Bound:
    """A field of each role."""
    return Bound(ROLE_ENTRIES.item, value_type, field)

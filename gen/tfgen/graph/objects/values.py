"""The holes of the tunables.

value("roles.worker.replicas")     -> Value("roles.worker.replicas", "integer")
value_for_role("worker", "image")  -> Default(Value("roles.worker.image", ...), Value("image", ...))
role_value("resources.cpu")        -> Parameter("values", "quantity", "resources.cpu")
role_or_job_value("image")         -> Default(Parameter("values", "string", "image"), Value("image", ...))
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import AsText, Bound, ChartOnly, Default, Entries, Expression, Named, Parameter, Value, type_of
from tfgen.job.training_job import RoleName
from tfgen.schema import tunables
from tfgen.value_type import ValueType

ROLE: Final = Parameter("role")
"""The name of the role, in a part that several roles share."""

ROLE_VALUES: Final = Parameter("values", "map")
"""The values of the role, in a part that several roles share."""


TEXT: Final = Named(
    "text",
    "A text. A number, such as 2 in --set run=2, becomes a text with all digits.",
    ChartOnly('{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}'),
)

TEXTS: Final = Named(
    "texts",
    "A map or list of texts. Numbers and booleans become texts, and maps remain maps.",
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
    """Return the hole of a values path.

    Raises:
        LookupError: the job schema has no tunable at the path.
    """
    tunable = tunables.at(path.split("."))
    hole = Value(path, tunable.type)
    return as_text(hole) if tunable.chart_types else hole


@cache
def role_value(field: str) -> Parameter | AsText:
    """Return the hole of a field of the role, in a part that several roles share."""
    tunable = tunables.at(("roles", "worker", *field.split(".")))
    hole = ROLE_VALUES.replaced(type=tunable.type, path=field)
    return as_text(hole) if tunable.chart_types else hole


@cache
def role_or_job_value(field: str) -> Default | AsText:
    """Return the hole of a field that a role may override, in a part that several roles share."""
    role, job = role_value(field), value(field)
    return (
        as_text(Default(role.tree, job.tree))
        if isinstance(role, AsText) and isinstance(job, AsText)
        else Default(role, job)
    )


def as_text(tree: Expression) -> AsText:
    """Return a text, map or list in which each number and boolean becomes a text."""
    return AsText(tree, TEXT if type_of(tree) == "string" else TEXTS)


def value_for_role(role: RoleName, field: str) -> Default:
    """Return the hole of a field that a role may override, for a named role outside of a shared part."""
    return Default(value(f"roles.{role}.{field}"), value(field))


ROLE_ENTRIES: Final = Entries(Value("roles", "map"), "role", "values")
"""The roles for a guard: the name and the values of each role."""

ROLE_NAME: Final = Bound(ROLE_ENTRIES.key)


def role_entry_value(field: str, value_type: ValueType) -> Bound:
    """Return the hole of a field of the role, in a guard over `ROLE_ENTRIES`."""
    return Bound(ROLE_ENTRIES.item, value_type, field)

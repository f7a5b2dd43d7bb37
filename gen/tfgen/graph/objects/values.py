"""Functions that return holes, the placeholders for tunables. The type of each hole comes from the job schema.

>>> value("roles.worker.replicas")
Value(path='roles.worker.replicas', type='integer')
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeVar

from tfgen.data_path import ValueType
from tfgen.graph.holes import (
    AsText,
    Bound,
    ChartOnly,
    CheckedMap,
    Expression,
    NamedTemplate,
    Node,
    Override,
    Parameter,
    Value,
    type_of,
)
from tfgen.job.training_job import RoleName
from tfgen.schema import tunables
from tfgen.schema.tunables import Tunable

ROLE: Final = Parameter("role")
"""The parameter with the name of the role, in a named template that all roles share."""

ROLE_VALUES: Final = Parameter("values", "map")
"""The parameter with the values of the role, in a named template that all roles share."""


_Hole = TypeVar("_Hole", Value, Parameter)

TEXT: Final = NamedTemplate(
    "text",
    "A text. A number, such as 2 in --set run=2, becomes a text with all digits.",
    ChartOnly('{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}'),
)

TEXTS: Final = NamedTemplate(
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

AMOUNTS: Final = NamedTemplate(
    "amounts",
    "A map of quantities. Numbers become texts: the schemas of custom kinds refuse a fraction.",
    ChartOnly("""\
{{- range $name, $amount := . }}
{{ $name | quote }}: {{ toString $amount | quote }}
{{- end }}"""),
)


@cache
def value(path: str) -> Value | AsText:
    """Return the hole for a values path.

    Raises:
        LookupError: the job schema has no tunable at the path.
    """
    tunable = tunables.at(path.split("."))
    return _as_text_if_needed(Value(path, tunable.type), tunable)


@cache
def role_value(field: str) -> Parameter | AsText:
    """Return the hole for a field of a role, in a named template that all roles share."""
    tunable = tunables.at(("roles", "worker", *field.split(".")))
    return _as_text_if_needed(ROLE_VALUES.replaced(type=tunable.type, path=field), tunable)


def _as_text_if_needed(hole: _Hole, tunable: Tunable) -> _Hole | AsText:
    if tunable.has_amounts:
        return AsText(hole, AMOUNTS)
    return as_text(hole) if tunable.chart_types else hole


@cache
def role_or_job_value(field: str) -> Override | AsText:
    """Return the hole for a field of a role. If the role does not set the field, the hole has the job's value.

    The hole is for a named template that all roles share.
    """
    return overridden(role_value(field), value(field))


def overridden(role: Expression, fallback: Node) -> Override | AsText:
    """Return the hole for the value of a role, with a fallback for a role that does not set the value."""
    if isinstance(role, AsText) and isinstance(fallback, AsText):
        return as_text(overridden(role.tree, fallback.tree))
    if not isinstance(role, (Value, Parameter)):
        raise TypeError(f"not a value of a role: {role!r}")
    return Override(role, fallback)


def as_text(tree: Expression) -> AsText:
    """Return a hole that converts each number and boolean in a tunable text, map or list to text."""
    return AsText(tree, TEXT if type_of(tree) == "string" else TEXTS)


def value_for_role(role: RoleName, field: str) -> Override | AsText:
    """Return the hole for a field of the given role, with the value of the job if the role does not set the field."""
    return overridden(value(f"roles.{role}.{field}"), value(field))


ROLE_ENTRIES: Final = CheckedMap(Value("roles", "map"), "role", "values")
"""The entries of `roles`, for a guard that checks each role. The guard can read the name and the values of the role."""

ROLE_NAME: Final = Bound(ROLE_ENTRIES.key)


def role_entry_value(field: str, value_type: ValueType) -> Bound:
    """Return the hole for `field` of a role, for a guard whose test runs for each role (`over=(ROLE_ENTRIES,)`)."""
    return Bound(ROLE_ENTRIES.item, value_type, field)

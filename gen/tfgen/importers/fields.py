"""Reader of the fields of a foreign object. A table contains a row for each field.

    {"backoffLimit": carried("spec", "retries"), "suspend": dropped("the job starts when it is applied"), "tasks": None}

A row contains the path in the job that gets the value, the outcome for the import report, and the reason for the
outcome. In place of a row, a table may contain a function that converts the field. The value None marks a field that
another function reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen.data_path import Path, with_value
from tfgen.importers.import_report import ImportReport, Outcome
from tfgen.importers.part import Part
from tfgen.importers.shapes import ANY_KEY

KEY: Final = "{key}"
"""Placeholder in a target or in a reason. The name of the field replaces the placeholder."""

ROLE: Final = "{role}"
"""Placeholder in a target. The name of the role replaces the placeholder."""


class Row(NamedTuple):
    """Conversion of one field of a foreign object, as a row of a table.

    Attributes:
        outcome: the outcome in the import report.
        target: the path in the job that gets the field's value.
        why: the reason for the outcome.
        default: the default of the field. `FieldReader` does not copy the default to the job. None means that
            `FieldReader` copies each value.
        sets: whether `FieldReader` copies the value to the target. If False, only the import report uses the target.
        why_default: the reason in the report for a field that has the default value.
    """

    outcome: Outcome
    target: Path
    why: str = ""
    default: Any = None
    sets: bool = True
    why_default: str = "tfgen's default"


Fields: TypeAlias = Mapping[str, Row | Callable[[str, Part], None] | None]
"""Field name -> row or function that converts the field. The key `ANY_KEY` is for all fields without a key.
The value None marks a field that another function reads."""


def carried(*target: str | int, why: str = "", **options: Any) -> Row:
    """Return the row for a field whose value goes into the job unchanged.

    `options` sets other attributes of the row.
    """
    return Row("carried", target, why, **options)


def changed(*target: str | int, why: str, **options: Any) -> Row:
    """Return the row for a field whose value has a different meaning in the job.

    `options` sets other attributes of the row.
    """
    return Row("changed", target, why, **options)


def dropped(why: str, **options: Any) -> Row:
    """Return the row for a field that has no equivalent in the job.

    `options` sets other attributes of the row.
    """
    return Row("dropped", (), why, **options)


TFGEN_DEFAULT: Final = carried(why="tfgen's default")


class FieldReader:
    """Reader that copies the fields of a foreign object to a job. Tables specify the conversion of the fields."""

    def __init__(self, report: ImportReport, role: str = "") -> None:
        self.report, self.role_name = report, role
        self.data: Any = {"spec": {}}

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of the job."""
        spec: dict[str, Any] = self.data["spec"]
        return spec

    def set_value(self, value: Any, *path: str | int) -> None:
        """Set the value at the path `path` of the job."""
        self.data = with_value(self.data, path, value)

    def fields(self, part: Part | None, table: Fields) -> None:
        """Convert each field of the mapping `part` as the table specifies. Ignore a field that is not in the table."""
        for key, field in part.entries() if part else ():
            row = table.get(key, table.get(ANY_KEY))
            if isinstance(row, Row):
                self.apply_row(field, row, key)
            elif row:
                row(key, field)

    def apply_row(self, part: Part, row: Row, key: str = "") -> None:
        """Copy the value of a field to the target in the row, and add the outcome to the import report.

        The name `key` of the field replaces the placeholder `KEY` in the target and in the reason of the row.
        """
        if row.default is not None and part.data == row.default:
            row = carried(why=row.why_default)
        steps = {KEY: key, ROLE: self.role_name}
        target = tuple(steps.get(step, step) if isinstance(step, str) else step for step in row.target)
        if target[:1] == ("spec",) and row.sets:
            self.set_value(part.data, *target)
        self.report.add_entry(part, row.outcome, target, row.why.replace(KEY, key))

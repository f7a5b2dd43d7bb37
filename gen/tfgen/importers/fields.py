"""Reader of the fields of a foreign mapping by a table.

    {"backoffLimit": carried("spec", "retries"), "suspend": dropped("the job starts when it is applied"), "tasks": None}

A row gives the path in the job that gets the value, the outcome in the import report, and the reason. A field that
needs code has a function in place of a row. The value None marks a field that another step reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen.data_path import Path, with_value
from tfgen.importers.import_report import ImportReport, Outcome
from tfgen.importers.part import Part
from tfgen.importers.shapes import ANY_KEY

KEY: Final = "{key}"
"""The place of the field's name in a target or in a reason."""

ROLE: Final = "{role}"
"""The place of the role in a target."""


class Row(NamedTuple):
    """A row of a table of fields.

    Attributes:
        outcome: the outcome in the import report.
        target: the path in the job that gets the field's value.
        why: the reason.
        default: the value that means the same as a missing field.
        sets: whether the target gets the value.
        why_default: the reason for a field that has the default.
    """

    outcome: Outcome
    target: Path
    why: str = ""
    default: Any = None
    sets: bool = True
    why_default: str = "tfgen's default"


Fields: TypeAlias = Mapping[str, Row | Callable[[str, Part], None] | None]
"""The rows of fields by name, and the row of all remaining fields by `EACH`. None: another step reads the field."""


def carried(*target: str | int, why: str = "", **options: Any) -> Row:
    """Return the row of a field whose value the job carries unchanged."""
    return Row("carried", target, why, **options)


def changed(*target: str | int, why: str, **options: Any) -> Row:
    """Return the row of a field whose value has another meaning in the job."""
    return Row("changed", target, why, **options)


def dropped(why: str, **options: Any) -> Row:
    """Return the row of a field that the job lacks."""
    return Row("dropped", (), why, **options)


TFGEN_DEFAULT: Final = carried(why="tfgen's default")


class FieldReader:
    """Builder of a job's data from the fields of a foreign object."""

    def __init__(self, report: ImportReport, role: str = "") -> None:
        self.report, self.role_name = report, role
        self.data: Any = {"spec": {}}

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of the job."""
        spec: dict[str, Any] = self.data["spec"]
        return spec

    def set_value(self, value: Any, *path: str | int) -> None:
        """Set a value of the job."""
        self.data = with_value(self.data, path, value)

    def fields(self, part: Part | None, table: Fields) -> None:
        """Read the fields of a mapping by a table."""
        for key, field in part.entries() if part else ():
            row = table.get(key, table.get(ANY_KEY))
            if isinstance(row, Row):
                self.apply_row(field, row, key)
            elif row:
                row(key, field)

    def apply_row(self, part: Part, row: Row, key: str = "") -> None:
        """Set the target of a row to the value of a part, and report the part."""
        if row.default is not None and part.data == row.default:
            row = carried(why=row.why_default)
        steps = {KEY: key, ROLE: self.role_name}
        target = tuple(steps.get(step, step) if isinstance(step, str) else step for step in row.target)
        if target[:1] == ("spec",) and row.sets:
            self.set_value(part.data, *target)
        self.report.add_entry(part, row.outcome, target, row.why.replace(KEY, key))

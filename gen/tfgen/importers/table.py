"""Reader of the fields of a foreign object. A table contains a row for each field.

    {"backoffLimit": carried("spec", "retries"), "suspend": dropped("the job starts when it is applied"), "tasks": None}

A row contains the path in the job that gets the value, and the reason for a difference. In place of a row, a table may
contain a function that converts the field. The value None marks a field that another function reads.

A reader builds the data of the job, and takes notes: which part of the source sets which path of the job, and why a
value differs. The notes are no report. `compare` compares the source with the imported job, and reports what it finds;
a note only gives the path or the reason for a difference that the comparison has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tfgen.data_path import Path, with_value
from tfgen.errors import Problem
from tfgen.importers.part import Part, PartId, kind
from tfgen.job.training_job import Strategy
from tfgen.record import Record
from tfgen.schema.kinds import WorkloadKind
from tfgen.schema.messages import found_words
from tfgen.text.document import MAX_PROBLEMS

Outcome: TypeAlias = Literal["carried", "changed", "dropped", "kept"]
"""Outcome for a part of the source: carried unchanged, changed in meaning, dropped, or kept (for the user to apply)."""

REFUSED: Final = "import"
"""The rule id of the problems about parts of the source that tfgen cannot import."""
RULES: Final[Mapping[str, str]] = {
    REFUSED: "The manifest that `tfgen import` reads has a setting that job.yaml cannot express."
}
"""The summary of the rule, which begins the section of the rule in docs/rules.md."""
_LONGEST_MESSAGE: Final = 500
"""Maximum number of characters of a message, because a message may quote a long text of the source."""

KEY: Final = "{key}"
"""Placeholder in a target or in a reason. The name of the field replaces the placeholder."""
ROLE: Final = "{role}"
"""Placeholder in a target. The name of the role replaces the placeholder."""
DEFAULTS_OF_COMMANDS: Final[Sequence[Path]] = (("arena",), ("elasticdl",))
"""Paths of the parts that an import adds to a command, such as a default. The user did not write these parts."""
ANY_KEY: Final = "*"
"""The key in a table or a shape for all keys that the table or shape does not name."""


PRESENT: Final = object()
"""In a reason: the job has the key that the part sets, and the key has another value than the part."""


class Options(Record):
    """Options for the readers of foreign jobs.

    Attributes:
        kind: the workload kind of the imported job.
        name: the name of the imported job; None for the name of the foreign job.
        operator: the version (major, minor) of the training operator; None if the user sets no version.
        single_task_strategy: the strategy of a job with a single task.
    """

    kind: WorkloadKind = "StatefulSet"
    name: str | None = None
    operator: tuple[int, int] | None = None
    single_task_strategy: Strategy = "Single"


class DifferenceReason(Record):
    """The reason for a difference between a part of the source and the imported job.

    Attributes:
        why: the reason; may be empty for the outcome "carried".
        outcome: the outcome that the reason explains. The comparison uses no reason for another outcome.
        becomes: the value that the part has in the job, or PRESENT; `...` for the value of the part itself. For a part
            without a target and with the outcome "carried": the default that the part must have.
        is_quiet: whether the loss of the part has no effect, because tfgen sets the same in another way.
    """

    why: str
    outcome: Outcome
    becomes: Any = ...
    is_quiet: bool = False


class Notes:
    """The notes of the readers about one foreign job, and the problems that stop the import.

    All jobs of an import share one list of problems.

    Attributes:
        problems: the problems.
        targets: the paths of the job that a part of the source sets, by the place of the part. The path of a role is
            the path before fields that all roles share move to the job.
        reasons: the reason for a part, by the place of the part.
        remarks: additional effects of a part, such as "the chief becomes worker 0".
    """

    def __init__(self, parent: Notes | None = None) -> None:
        self.problems: list[Problem] = parent.problems if parent else []
        self.targets: dict[PartId, list[Path]] = {}
        self.reasons: dict[PartId, DifferenceReason] = {}
        self.remarks: list[tuple[Part, str]] = []

    def refuse(self, part: Part, message: str) -> None:
        """Add a problem about a part of the source, so that the import fails. Keep at most `MAX_PROBLEMS` problems."""
        if len(self.problems) < MAX_PROBLEMS:
            cut = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}..."
            self.problems.append(part.problem(f"{part.name}: {cut}", REFUSED))

    def target(self, part: Part, *target: str | int, becomes: Any = ...) -> None:
        """Note that the part sets the value at the path `target` of the job, or `becomes` the value there."""
        if part.path not in DEFAULTS_OF_COMMANDS:
            self.targets.setdefault(part.place, []).append(target)
        if becomes is not ...:
            self.reason(part, "", "carried", becomes)

    def reason(
        self, part: Part, why: str, outcome: Outcome = "dropped", becomes: Any = ..., *, is_quiet: bool = False
    ) -> None:
        """Note the reason for which the job lacks the part, or has another value."""
        if part.path not in DEFAULTS_OF_COMMANDS:
            self.reasons[part.place] = DifferenceReason(why, outcome, becomes, is_quiet)
        elif outcome == "changed":
            self.remark(part, why)

    def change_target(self, target: Path, why: str, outcome: Outcome, becomes: Any = ...) -> bool:
        """Note the reason for each part that sets the value at a path. Return whether there is such a part."""
        places = [place for place, targets in self.targets.items() if target in targets]
        for place in places:
            self.reasons[place] = DifferenceReason(why, outcome, becomes)
        return bool(places)

    def rename_role(self, old: str, new: str) -> None:
        """Move the noted targets of a role to another role."""
        for targets in self.targets.values():
            targets[:] = [(*t[:2], new, *t[3:]) if t[1:3] == ("roles", old) else t for t in targets]

    def remark(self, part: Part, why: str) -> None:
        """Note an additional effect of a part."""
        self.remarks.append((part, why))


class Conversion(NamedTuple):
    """Conversion of one field of a foreign object, as a row of a table.

    Attributes:
        outcome: the outcome that the comparison finds if the import is correct.
        target: the path in the job that gets the field's value.
        why: the reason for the outcome.
        default: the default of the field. `FieldReader` does not copy the default to the job. None means that
            `FieldReader` copies each value.
        why_default: the reason in the report for a field that has the default value.
        sets: whether `FieldReader` copies the value to the target.
        is_quiet: whether the loss of the field has no effect.
        becomes: the value in the job if the job has another value than the field, or PRESENT.
    """

    outcome: Outcome
    target: Path
    why: str = ""
    default: Any = None
    why_default: str = "tfgen's default"
    sets: bool = True
    is_quiet: bool = False
    becomes: Any = ...


Fields: TypeAlias = Mapping[str, Conversion | Callable[[str, Part], None] | None]
"""Field name -> row or function that converts the field. The key `ANY_KEY` is for all fields without a key.
The value None marks a field that another function reads."""


def carried(*target: str | int, why: str = "", **options: Any) -> Conversion:
    """Return the row for a field whose value goes into the job unchanged.

    `options` sets other attributes of the row.
    """
    return Conversion("carried", target, why, **options)


def changed(*target: str | int, why: str, **options: Any) -> Conversion:
    """Return the row for a field whose value has a different meaning in the job.

    `options` sets other attributes of the row.
    """
    return Conversion("changed", target, why, **options)


def dropped(why: str, **options: Any) -> Conversion:
    """Return the row for a field that has no equivalent in the job.

    `options` sets other attributes of the row.
    """
    return Conversion("dropped", (), why, **options)


TFGEN_DEFAULT: Final = carried(why="tfgen's default")


class FieldReader:
    """Reader that copies the fields of a foreign object to a job. Tables specify the conversion of the fields."""

    def __init__(self, notes: Notes, role: str = "") -> None:
        self.notes, self.role_name = notes, role
        self.data: Any = {"spec": {}}

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of the job."""
        spec: dict[str, Any] = self.data["spec"]
        return spec

    def set_value(self, value: Any, *path: str | int) -> None:
        """Set the value at the path `path` of the job."""
        self.data = with_value(self.data, path, value)

    def put(self, part: Part, value: Any, *path: str | int) -> None:
        """Set the value at the path `path` of the job, and note the part that sets the value."""
        self.set_value(value, *path)
        self.notes.target(part, *path)

    def fields(self, part: Part | None, table: Fields) -> None:
        """Convert each field of the mapping `part` as the table specifies. Ignore a field that is not in the table."""
        for key, field in part.entries() if part else ():
            row = table.get(key, table.get(ANY_KEY))
            if isinstance(row, Conversion):
                self.apply_row(field, row, key)
            elif row:
                row(key, field)

    def apply_row(self, part: Part, row: Conversion, key: str = "") -> None:
        """Copy the value of a field to the target in the row, and note the target and the reason.

        The name `key` of the field replaces the placeholder `KEY` in the target and in the reason of the row.
        """
        if row.default is not None and part.data == row.default:
            self.notes.reason(part, row.why_default, "carried", row.default)
            return
        steps = {KEY: key, ROLE: self.role_name}
        target = tuple(steps.get(step, step) if isinstance(step, str) else step for step in row.target)
        if target[:1] == ("spec",) and row.sets:
            self.put(part, part.data, *target)
        elif target:
            self.notes.target(part, *target)
        if row.why or not target or row.becomes is not ...:
            self.notes.reason(part, row.why.replace(KEY, key), row.outcome, row.becomes, is_quiet=row.is_quiet)


# -- shapes ------------------------------------------------------------------------------------------------------

_SCALAR: Final = "a text or a number"
"""The shape of a value that is neither a mapping nor a list."""
_TEXTS: Final = {ANY_KEY: _SCALAR}
_SCALARS: Final = """
    action activeDeadlineSeconds backoffLimit cleanPodPolicy cleanupPodPolicy completions enableDynamicWorker event
    exitCode generateName kind logDir managedBy maxRestarts maxRetry minAvailable mountPath name namespace numNodes
    operator parallelism priorityClass priorityClassName queue replicaIndex replicaName replicas restartPolicy
    scheduleTimeoutSeconds schedulerName storageClassName suspend tfPort tfReplicaType ttlSecondsAfterFinished
    volumeClaimName
"""
_MAPPINGS: Final = """
    chief coscheduling failurePolicy metadata mlPolicy podGroupPolicy resources runPolicy runtimeRef schedulingPolicy
    spec template tensorBoard TensorBoard tensorboard terminationPolicy trainer volumeClaim
"""
_FIELDS: Final[dict[str, Any]] = {
    "plugins": {ANY_KEY: [_SCALAR]},
    **dict.fromkeys(("annotations", "labels", "requests"), _TEXTS),
    **{key: [_SCALAR] for key in ("accessModes", "events", "targetReplicatedJobs")},
    **dict.fromkeys(_SCALARS.split(), _SCALAR),
}
"""The shape of each field of a foreign object. A field has the same shape in all formats.

The shape of a mapping is a mapping with the shape of each key. The shape of a list is a list with one shape for all
items. Null is always allowed, and a field without a shape may have any type.
"""
_FIELDS.update(dict.fromkeys(_MAPPINGS.split(), _FIELDS))
_FIELDS.update({key: [_FIELDS] for key in ("policies", "replicaSpecs", "replicatedJobs", "tasks", "volumes")})
_FIELDS["tfReplicaSpecs"] = {ANY_KEY: _FIELDS}


def refuse_misshapen(part: Part, notes: Notes) -> bool:
    """Add a problem for each field of an object that does not have its type. Return True after a problem."""
    of_spec = {**_FIELDS, "successPolicy": _FIELDS if kind(part) == "JobSet" else _SCALAR}
    misshapen = list(_misshapen(part, {**_FIELDS, "spec": of_spec}))
    for value, expected in misshapen:
        notes.refuse(value, f"found {found_words(value.value, value.text or '')}, expected {expected}")
    return bool(misshapen)


def _misshapen(part: Part, shape: Any) -> Iterator[tuple[Part, str]]:
    """Yield each value that does not have the type in the shape, with the name of the expected type."""
    if isinstance(shape, Mapping) and isinstance(part.value, Mapping):
        for key, field in part.entries():
            if (field_shape := shape.get(key, shape.get(ANY_KEY))) is not None:
                yield from _misshapen(field, field_shape)
    elif isinstance(shape, list) and isinstance(part.value, list):
        for item in part.value:
            yield from _misshapen(item, shape[0])
    elif shape != _SCALAR or isinstance(part.value, (Mapping, list)):
        yield part, shape if shape == _SCALAR else "a mapping" if isinstance(shape, Mapping) else "a list"

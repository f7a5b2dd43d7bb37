"""Import report, with the outcome of each line of the source, and the problems that stop the import.

    tfjob.yaml:9:7: carried spec.tfReplicaSpecs.PS.replicas to spec.roles.ps.replicas
    tfjob.yaml:6:3: dropped spec.enableDynamicWorker: ...

The import drops nothing silently. `ImportReport.unread` finds the scalars that no reader has reported, and the import
then reports each of these scalars as dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from tfgen.data_path import Path
from tfgen.errors import Position, Problem
from tfgen.importers.part import Part
from tfgen.record import Record
from tfgen.text.document import MAX_PROBLEMS
from tfgen.words import path_name, printable

Outcome: TypeAlias = Literal["carried", "changed", "dropped", "kept"]
"""Outcome for a part of the source: carried unchanged, changed in meaning, dropped, or kept (for the user to apply)."""

REFUSED: Final = "import"
"""The rule id of the problems about parts of the source that tfgen cannot import."""
_LONGEST_MESSAGE: Final = 500
"""Maximum number of characters of a message, because a message may quote a long text of the source."""


class Entry(Record):
    """Entry of the import report, with the outcome for a part of the source, such as a field.

    Attributes:
        source: the path of the part in its object.
        target: the path in the job that gets the part's value, or None.
        why: the reason for the outcome; may be empty for the outcome "carried".
        explains_all: whether `why` is the reason for each difference between this part and the rendered objects.
    """

    file: str
    position: Position
    outcome: Outcome
    source: str
    target: Path | None = None
    why: str = ""
    explains_all: bool = True

    def __str__(self) -> str:
        """Return the entry as a line of text."""
        line, column = self.position
        target = f" to {path_name(self.target)}" if self.target else ""
        why = f": {self.why}" if self.why else ""
        return printable(f"{self.file}:{line}:{column}: {self.outcome} {self.source}{target}{why}")


class ImportReport:
    """Import report of a job, with entries and problems in the order in which the readers add them.

    All jobs of an import share one list of problems. The jobs also share the set of scalars that a reader has read,
    because a part of the source may belong to several jobs.
    """

    def __init__(self, parent: ImportReport | None = None) -> None:
        self.entries: list[Entry] = []
        self.problems: list[Problem] = parent.problems if parent else []
        self._read: set[int] = parent._read if parent else set()

    def carry(self, part: Part, *target: str | int, why: str = "") -> None:
        """Report a part of the source as carried: the job has the same value at the path `target`."""
        self.add_entry(part, "carried", target, why)

    def change(self, part: Part, *target: str | int, why: str) -> None:
        """Report a part of the source as changed: the job has a value with a different meaning at the path `target`."""
        self.add_entry(part, "changed", target, why)

    def drop(self, part: Part, why: str) -> None:
        """Report a part of the source as dropped: the job has no equivalent of the part."""
        self.add_entry(part, "dropped", (), why)

    def keep(self, part: Part, why: str) -> None:
        """Report an object as kept: the user continues to apply the object, and the job may refer to the object."""
        self.add_entry(part, "kept", (), why)

    def refuse(self, part: Part, message: str) -> None:
        """Add a problem about a part of the source, so that the import fails. Keep at most `MAX_PROBLEMS` problems."""
        if len(self.problems) < MAX_PROBLEMS:
            cut = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}..."
            self.problems.append(part.problem(f"{part.name}: {cut}", REFUSED))
        self.mark_read(part)

    def refuse_target(self, target: Path, root: Part, message: str) -> None:
        """Add a problem about the value at the path `target` of the job.

        The problem has the position of the part of the source from which the import took the value. If the import
        report does not name such a part, the problem has the position of `root`.
        """
        entries = self.first_entries()
        entry = next((entries[target[:n]] for n in range(len(target), 0, -1) if target[:n] in entries), None)
        file, position = (entry.file, entry.position) if entry else (root.file, root.key)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(file, position, message, REFUSED))

    def note(self, part: Part, why: str, *, explains_all: bool = False) -> None:
        """Report an additional effect of a part of the source, such as "the chief becomes worker 0".

        The caller must also report the outcome of the part itself, for example with `carry`. The new `Entry` gets the
        attribute `explains_all`.
        """
        self.entries.append(Entry(part.file, part.key, "changed", part.name, None, why, explains_all))

    def mark_read(self, part: Part) -> None:
        """Mark the scalars of a part as read, so that the import does not report these scalars as dropped."""
        self._read.update(id(leaf) for leaf in part.leaves())

    def unread(self, part: Part) -> Iterator[Part]:
        """Return the scalars inside a part that no reader has marked as read."""
        return (leaf for leaf in part.leaves() if id(leaf) not in self._read)

    def move_targets(self, moved: Mapping[Path, Path]) -> None:
        """Update the targets of the entries after values of the job have moved.

        `moved` contains the new path for each old path. Example: {("spec", "roles", "ps", "image"): ("spec", "image")}.
        """
        if moved:
            self.map_targets(lambda target: _moved(target, moved))

    def map_targets(self, new_target: Callable[[Path], Path]) -> None:
        """Replace the target of each entry by the result of the function `new_target`, which takes the old target."""
        self.entries = [
            entry.replaced(target=new_target(entry.target)) if entry.target is not None else entry
            for entry in self.entries
        ]

    def change_target(self, target: Path, why: str) -> bool:
        """Set the outcome of each entry with this target to `changed`, and set the reason.

        Return True if an entry has changed. An entry that already has this outcome and reason does not change.
        """
        before = self.entries
        self.entries = [
            entry.replaced(outcome="changed", why=why) if entry.target == target else entry for entry in before
        ]
        return self.entries != before

    def drop_target(self, target: Path, why: str) -> None:
        """Set the outcome of each entry with this target to `dropped`, set the reason, and remove the target."""
        self.entries = [
            entry.replaced(outcome="dropped", target=None, why=why) if entry.target == target else entry
            for entry in self.entries
        ]

    def first_entries(self) -> Mapping[Path, Entry]:
        """Return the first entry for each target. This entry names the source of the value at the target.

        Example: {("spec", "retries"): entry of the field backoffLimit}.
        """
        return {entry.target: entry for entry in reversed(self.entries) if entry.target}

    def add_entry(self, part: Part, outcome: Outcome, target: Path, why: str) -> None:
        """Add an entry for a part, and mark the part as read."""
        self.entries.append(Entry(part.file, part.key, outcome, part.name, target or None, why))
        self.mark_read(part)


def _moved(target: Path, moved: Mapping[Path, Path]) -> Path:
    for length in range(len(target), 0, -1):
        new = moved.get(target[:length])
        if new is not None:
            return (*new, *target[length:])
    return target

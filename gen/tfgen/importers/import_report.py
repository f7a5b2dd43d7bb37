"""Import report: the outcome of each line of the source, and the problems that stop the import.

    tfjob.yaml:9:7: carried spec.tfReplicaSpecs.PS.replicas to spec.roles.ps.replicas
    tfjob.yaml:6:3: dropped spec.enableDynamicWorker: ...

Nothing is dropped in silence: what no reader has named is found by `unread`, and refused or named then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from tfgen.data_path import Path
from tfgen.importers.part import Part
from tfgen.problems import Position, Problem
from tfgen.record import Record
from tfgen.text.document import MAX_PROBLEMS
from tfgen.words import path_name, printable

Outcome: TypeAlias = Literal["carried", "changed", "dropped", "kept"]
"""Carried as it means; changed in what it means; dropped; or kept: an object that stays as it is, beside the job."""

REFUSED: Final = "import"
"""The rule of what cannot be imported."""
_LONGEST: Final = 500
"""Characters of a message; one that quotes the source may have any number of them."""


class Entry(Record):
    """What became of a part of the source.

    Attributes:
        source: its path in its object.
        target: where it stands in the job; None where it does not.
        why: the reason, where it is not simply carried.
        covers: whether it speaks of all that is in the part.
    """

    file: str
    position: Position
    outcome: Outcome
    source: str
    target: Path | None = None
    why: str = ""
    covers: bool = True

    def __str__(self) -> str:
        """One line for people."""
        line, column = self.position
        target = f" to {path_name(self.target)}" if self.target else ""
        why = f": {self.why}" if self.why else ""
        return printable(f"{self.file}:{line}:{column}: {self.outcome} {self.source}{target}{why}")


class ImportReport:
    """Collects the entries of a job and its problems, in the order in which readers name them.

    The accounts of all jobs of an import share their problems, and what is named: a part may belong to several jobs.
    """

    def __init__(self, beside: ImportReport | None = None) -> None:
        self.entries: list[Entry] = []
        self.problems: list[Problem] = beside.problems if beside else []
        self._named: set[int] = beside._named if beside else set()

    def carry(self, part: Part, *target: str | int, why: str = "") -> None:
        """The job says the same at the target."""
        self.add_entry(part, "carried", target, why)

    def change(self, part: Part, *target: str | int, why: str) -> None:
        """The job says at the target (or by a default) what is not quite the same."""
        self.add_entry(part, "changed", target, why)

    def drop(self, part: Part, why: str) -> None:
        """The job does not say it."""
        self.add_entry(part, "dropped", (), why)

    def keep(self, part: Part, why: str) -> None:
        """An object that the job only refers to."""
        self.add_entry(part, "kept", (), why)

    def refuse(self, part: Part, message: str) -> None:
        """The import fails, because of this part; past `MAX_PROBLEMS`, the part is only one more of them."""
        if len(self.problems) < MAX_PROBLEMS:
            cut = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
            self.problems.append(part.problem(f"{part.name}: {cut}", REFUSED))
        self.mark_read(part)

    def refuse_target(self, target: Path, root: Part, message: str) -> None:
        """The import fails because of what the job has at a path: at the place that it comes from, or at the root's."""
        sources = self.sources()
        entry = next((sources[target[:n]] for n in range(len(target), 0, -1) if target[:n] in sources), None)
        file, position = (entry.file, entry.position) if entry else (root.file, root.key)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(file, position, message, REFUSED))

    def note(self, part: Part, why: str, *, covers: bool = False) -> None:
        """A change that the part causes, without being carried or dropped itself."""
        self.entries.append(Entry(part.file, part.key, "changed", part.name, None, why, covers))

    def mark_read(self, part: Part) -> None:
        """The part needs no entry of its own: what says its kind, or what an entry beside it speaks of."""
        self._named.update(id(scalar_part) for scalar_part in part.leaves())

    def unread(self, part: Part) -> Iterator[Part]:
        """The scalars in a part of which there is no entry."""
        return (scalar_part for scalar_part in part.leaves() if id(scalar_part) not in self._named)

    def move_targets(self, moved: Mapping[Path, Path]) -> None:
        """Put the targets where the job's data has them in the end: what all roles say alike is said once."""
        if moved:
            self.map_targets(lambda target: _moved(target, moved))

    def map_targets(self, new: Callable[[Path], Path]) -> None:
        """Give each target the path that a function has for it."""
        self.entries = [
            entry.replaced(target=new(entry.target)) if entry.target is not None else entry for entry in self.entries
        ]

    def change_target(self, target: Path, why: str) -> bool:
        """Say of what was carried to a target why it does not mean the same; whether anything was."""
        before = self.entries
        self.entries = [
            entry.replaced(outcome="changed", why=why) if entry.target == target else entry for entry in before
        ]
        return self.entries != before

    def sources(self) -> Mapping[Path, Entry]:
        """The entry to which a path of the job goes back: the first."""
        return {entry.target: entry for entry in reversed(self.entries) if entry.target}

    def add_entry(self, part: Part, outcome: Outcome, target: Path, why: str) -> None:
        """Add the entry of a part."""
        self.entries.append(Entry(part.file, part.key, outcome, part.name, target or None, why))
        self.mark_read(part)


def _moved(target: Path, moved: Mapping[Path, Path]) -> Path:
    for length in range(len(target), 0, -1):
        new = moved.get(target[:length])
        if new is not None:
            return (*new, *target[length:])
    return target

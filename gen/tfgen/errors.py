"""The errors that tfgen raises on purpose, and the problems in the input of a user.

    raise TfgenError("charts/dist-mnist/Chart.yaml: No space left on device")

The user sees only the message. Only `cli` catches these errors, prints the message and exits.

    job.yaml:12:7: unknown key "replica"; did you mean "replicas"? [unknown-key]

A `Problem` is data with a file, a line and a column: rules return problems, and only `cli` prints problems. Lines and
columns count from 1. A column counts characters, as in editors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from tfgen.record import Record
from tfgen.words import printable, without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfgen.fix import Fix


class TfgenError(Exception):
    """Error that stops a command, with a message for the user."""

    exit_code: ClassVar[int] = 3
    """Exit code for an error in tfgen, on the disk, or in a tool that tfgen calls."""


class UsageError(TfgenError):
    """Error in the command line, such as a file that does not exist."""

    exit_code = 2


class MissingPackageError(TfgenError):
    """Error for a missing package that the command needs."""

    def __init__(self, problem: str, *packages: str) -> None:
        """Create a message such as `the Kubernetes client is not installed: pip install kubernetes`.

        Args:
            problem: the first part of the message, such as `the Kubernetes client is not installed`.
            packages: the names of the packages on the Python package index.
        """
        super().__init__(f"{problem}: pip install {' '.join(packages)}")


Severity = Literal["error", "warning"]


class Position(NamedTuple):
    """A line and a column of a file, counted from 1."""

    line: int
    column: int


class Place(NamedTuple):
    """A file, and a position in the file. `str` returns `FILE:LINE:COLUMN`."""

    file: str
    position: Position

    def __str__(self) -> str:
        return f"{self.file}:{self.position.line}:{self.position.column}"


class Problem(Record):
    """A mistake in a file, with its line and column.

    The fixes follow from the other fields, so two problems with equal other fields are equal. The message contains no
    credential.

    Attributes:
        rule: an id that docs/rules.md explains.
        fixes: the edits of `file` that the message proposes. Each of them alone fixes the mistake.
        is_soft: True for the error of a soft rule (`Rule.is_soft`).
    """

    file: str
    position: Position
    message: str
    rule: str
    severity: Severity = "error"
    fixes: tuple[Fix, ...] = ()
    is_soft: bool = False

    if not TYPE_CHECKING:

        def __init__(self, *args: object, **named: object) -> None:
            super().__init__(*args, **named)
            self.__dict__["message"] = without_credentials(self.message)

    @property
    def is_ignorable(self) -> bool:
        """Return True if a tfgen.yaml may set the severity of the problem, and a comment may ignore the problem."""
        return self.severity == "warning" or self.is_soft

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.file, self.position, self.message, self.rule, self.severity

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Problem) and self._identity == value._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def place(self) -> Place:
        """Return the file and the position of the mistake."""
        return Place(self.file, self.position)

    def __str__(self) -> str:
        """Return the problem in a single line, with escapes for line endings and control characters."""
        severity = "warning: " if self.severity == "warning" else ""
        return printable(f"{self.place}: {severity}{self.message} [{self.rule}]")


class ProblemsError(TfgenError):
    """Error that stops a command because of the problems in a file. `cli` prints the problems, and then the message.

    Attributes:
        problems: the problems; at least one of them is an error.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, problems: Iterable[Problem], message: str = "") -> None:
        super().__init__(message)
        self.problems = tuple(problems)


def stop_at_errors(problems: Iterable[Problem], message: str = "") -> None:
    """Raise ProblemsError with the problems and the message if a problem is an error."""
    problems = tuple(problems)
    if has_errors(problems):
        raise ProblemsError(problems, message)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems without duplicates, sorted by file, position and message."""
    return tuple(sorted(set(problems), key=lambda p: (p.file, p.position, p.message, p.rule, p.severity)))


def has_errors(problems: Iterable[Problem]) -> bool:
    """Test whether at least one problem is an error. A warning does not stop a command."""
    return any(p.severity == "error" for p in problems)

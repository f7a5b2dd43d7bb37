"""Fixes of problems: the edits of a file that a message proposes, such as `write 4Gi`.

    removal(("spec", "code"))  ->  Fix("remove the key", (Assignment(("spec", "code"), REMOVED),))

A rule makes a fix, and the message contains `Fix.words`. `text.edit` applies the edits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tfgen import words
from tfgen.data_path import Path


class Removal(Enum):
    """The type of `REMOVED`. The assignment of `REMOVED` to a path removes the key or the list item at the path."""

    REMOVED = "removed"


REMOVED: Final = Removal.REMOVED


class Assignment(NamedTuple):
    """A new value for the key or list item at a path. The index after the last item of a list appends an item.

    Attributes:
        value: plain data to set, or `REMOVED` to remove the key or list item.
        after: for each step of `path`, the keys that precede the step in its mapping. tfgen inserts a new key after
            these keys. If the mapping has none of these keys, the new key becomes the first key.
    """

    path: Path
    value: Any
    after: Sequence[Sequence[str]] = ()


class Rename(NamedTuple):
    """A new name for the key at a path. The value and the place of the key remain."""

    path: Path
    key: str


class Replacement(NamedTuple):
    """A new text for each match of a pattern at a problem, for text that is not a whole value.

    Attributes:
        pattern: a regular expression.
        where: the searched text: the scalar that begins at the problem, the rest of its line, or the line. The rest and
            the line contain the line end.
    """

    pattern: str
    new: str
    where: Literal["scalar", "rest", "line"] = "scalar"


DataEdit: TypeAlias = Assignment | Rename


class Fix(NamedTuple):
    """The edits that fix a problem.

    Attributes:
        words: the fix as an order, such as `write 4Gi`. The messages of problems contain these words.
        edits: the edits, in order. The paths begin at the root of the document.
        is_choice: whether the message also proposes something else, so that only the user can decide.
    """

    words: str
    edits: tuple[DataEdit | Replacement, ...]
    is_choice: bool = False

    @property
    def title(self) -> str:
        """Return the words as a title, such as `Write 4Gi`."""
        return f"{self.words[:1].upper()}{self.words[1:]}"

    def moved(self, move: Callable[[Path], Path]) -> Fix:
        """Return the fix with other paths. `move` returns the new path for a path."""
        edits = (edit if isinstance(edit, Replacement) else edit._replace(path=move(edit.path)) for edit in self.edits)
        return self._replace(edits=tuple(edits))


def removal(path: Path, what: str = "the key", *, is_choice: bool = False) -> Fix:
    """Return the fix that removes a key or a list item. `what` is the name of the key or item in the message."""
    return Fix(f"remove {what}", (Assignment(path, REMOVED),), is_choice)


def assignment(path: Path, value: Any, order: str, *, is_choice: bool = False) -> Fix:
    """Return the fix that sets the value at a path. `order` has the words of the fix."""
    return Fix(order, (Assignment(path, value),), is_choice)


class Hint(NamedTuple):
    """The end of a message, such as `; write 4Gi`, and the fixes that the text proposes. An empty hint is false."""

    text: str
    fixes: tuple[Fix, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)


NO_HINT: Final = Hint("")


def hint(*fixes: Fix, end: str = "", other: str = "") -> Hint:
    """Return the hint that proposes fixes: `; remove the key, or write false`.

    Args:
        fixes: the fixes.
        end: an explanation of the last fix.
        other: an alternative that is not a single edit, so that only the user can decide.
    """
    words = ", or ".join(fix.words for fix in fixes)
    chosen = tuple(fix._replace(is_choice=fix.is_choice or bool(other)) for fix in fixes)
    return Hint(f"; {words}{end}{f', or {other}' if other else ''}", chosen)


def meant(name: str | None, *edits: DataEdit | Replacement, written: Any = None, end: str = "") -> Hint:
    """Return the hint `; did you mean "replicas"?` for a name; empty without a name.

    Args:
        name: the name that the user probably means.
        edits: the edits that write the name.
        written: the name in the file, if it may be more than a typing error. Only the user knows whether a less similar
            name is meant.
        end: the text after the question.
    """
    if name is None or not edits:
        return Hint(f"{words.meant(name)}{end}")
    is_guess = written is not None and words.nearest(written, [name.rpartition(".")[2]], words.NEAR) is None
    return Hint(f"{words.meant(name)}{end}", (Fix(f"change to {words.shown(name)}", edits, is_guess),))

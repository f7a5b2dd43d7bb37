"""Functions for the text of messages: values, paths, commands, names, numbers, tables and the hint "did you mean"."""

from __future__ import annotations

import json
import re
import shlex
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tfgen.credentials import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfgen.data_path import Path


def shown(value: object, longest: int = 60) -> str:
    r"""Return a user's value for a message, as JSON in a single line of at most `longest` characters.

    The text contains no credential.

    >>> shown("worker\\n"), shown(1.5), shown(None)
    ('"worker\\\\n"', '1.5', 'null')
    """
    text = _as_json(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _as_json(value: object) -> str:
    return printable(without_credentials(json.dumps(value, ensure_ascii=False)))


def shown_pair(first: object, second: object, longest: int = 60) -> tuple[str, str]:
    """Return two different values for a message, as `shown` does, but so that the two texts differ.

    If the first `longest` characters of the values are equal, each text begins shortly before the first difference. The
    texts are equal for values that differ only in a credential.

    >>> shown_pair("registry.ml.internal/mnist:1.4.0", "registry.ml.internal/mnist:1.5.0", 24)
    ('...nal/mnist:1.4.0"', '...nal/mnist:1.5.0"')
    """
    pair = shown(first, longest), shown(second, longest)
    texts = [_as_json(value) for value in (first, second)]
    if texts[0] == texts[1] or pair[0] != pair[1]:
        return pair
    equal = takewhile(lambda characters: characters[0] == characters[1], zip(*texts, strict=False))
    start = max(sum(1 for _ in equal) - _LEAD, 0)
    ends = (text[start:] for text in texts)
    before, after = (end if len(end) <= longest - 3 else f"{end[: longest - 6]}..." for end in ends)
    return f"...{before}", f"...{after}"


_LEAD = 12
"""Number of equal characters that `shown_pair` shows before the first difference of two long texts."""


def printable(text: str) -> str:
    """Escape the characters of a text that control a terminal, such as line endings and escape sequences."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def for_terminal(text: str) -> str:
    """Escape the characters of a text that control a terminal, except line endings and tabs."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


NEAR = 0.8
"""Minimum similarity (0 to 1) of a name and its misspelling, such as a name with a wrong letter or an added s."""


def either(names: Iterable[str], last: str = "or") -> str:
    """Join names as in `a, b or c`, with the word `last` before the last name. An empty name becomes two quotes."""
    *most, end = [name or '""' for name in names]
    return f"{', '.join(most)} {last} {end}" if most else end


def listed(names: Sequence[str], most: int) -> str:
    """Join names as in `a, b and c`, or as in `a, b and 3 more` if there are more than `most` names.

    >>> listed(["a", "b", "c"], most=3), listed(["a", "b", "c"], most=1)
    ('a, b and c', 'a and 2 more')
    """
    unnamed = len(names) - most
    return f"{', '.join(names[:most])} and {unnamed} more" if unnamed > 0 else either(names, "and")


ALSO = "also in"
"""Words before the names of the environments that have the same mistake as the job."""


def in_environments(names: Iterable[str | None], where: str = "in") -> str:
    """Return text such as ` (in the environments dev and prod)`; empty if `names` contains None for the job itself."""
    distinct = list(dict.fromkeys(names))
    named = [name for name in distinct if name is not None]
    if len(named) < len(distinct) or not named:
        return ""
    return f" ({where} the environment{'s' if len(named) > 1 else ''} {either(named, 'and')})"


def meant(name: str | None) -> str:
    """Return the hint `; did you mean "replicas"?` with a name; empty for None."""
    return f"; did you mean {shown(name)}?" if name else ""


def nearest(name: Any, candidates: Iterable[str], least: float = 0.6) -> str | None:
    """Return the candidate that is most similar to `name`; None if no candidate has the similarity `least` (0 to 1).

    The comparison ignores upper and lower case, because a wrong case is the most frequent mistake.
    """
    from difflib import get_close_matches  # imported late: a valid job saves the 5 ms

    by_lower = {choice.lower(): choice for choice in candidates if choice}
    close = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=least)
    return by_lower[close[0]] if close else None


def path_name(path: Path) -> str:
    """Return a path in the notation of messages.

    >>> path_name(("spec", "labels", "example.com/team")), path_name(("spec", "args", 0)), path_name(())
    ('spec.labels["example.com/team"]', 'spec.args[0]', 'the document')
    """
    name = ""
    for step in path:
        if isinstance(step, int):
            name += f"[{step}]"
        else:
            name += f".{step}" if re.fullmatch(r"[A-Za-z0-9_-]+", step) else f"[{shown(step)}]"
    return name.removeprefix(".") or "the document"


def command_line(command: str, *arguments: object) -> str:
    """Return a tfgen command for a message. A user can copy the text to a POSIX shell, whatever the arguments contain.

    >>> command_line("render", "--upgrade", "my jobs/job.yaml")
    "tfgen render --upgrade 'my jobs/job.yaml'"
    """
    return shlex.join(["tfgen", command, *map(str, arguments)])


def columns(rows_of_cells: Sequence[Sequence[str]]) -> str:
    """Return a table as text with aligned columns. Each row is a sequence with the texts of the cells."""
    widths = [max(map(len, column)) for column in zip(*rows_of_cells, strict=True)]
    padded = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows_of_cells)
    return "".join(f"{line.rstrip()}\n" for line in padded)


def count(number: int, noun: str) -> str:
    """Return a number with a noun: "1 job", "2 jobs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

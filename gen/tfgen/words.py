"""Words that every message is made of: values and paths as they are shown, lists of names, the nearest name."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfgen.data_path import Path


def shown(value: object, longest: int = 60) -> str:
    r"""A user's value inside a message: as JSON, in one line, cut after `longest` characters.

    >>> shown("worker\\n"), shown(1.5), shown(None)
    ('"worker\\\\n"', '1.5', 'null')
    """
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def printable(text: str) -> str:
    """The text with escapes for what a terminal would obey or hide: line ends, escape sequences, text direction."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def for_terminal(text: str) -> str:
    """The text in its lines, with an escape for each other character that a terminal would obey or hide."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


NEAR = 0.8
"""How much two names have in common of which one is surely the other misspelt: case, a letter, an s."""


def either(names: Iterable[str], last: str = "or") -> str:
    """`a, b or c`; an empty name is shown as two quotes."""
    *most, end = [name or '""' for name in names]
    return f"{', '.join(most)} {last} {end}" if most else end


ALSO = "also in"
"""The words before the environments that share the mistake of the job."""


def in_environments(names: Iterable[str | None], where: str = "in") -> str:
    """What a message ends with that holds in some environments; nothing where it holds for the job itself: None."""
    distinct = list(dict.fromkeys(names))
    named = [name for name in distinct if name is not None]
    if len(named) < len(distinct) or not named:
        return ""
    return f" ({where} the environment{'s' if len(named) > 1 else ''} {either(named, 'and')})"


def meant(name: str | None) -> str:
    """A question for the nearest known name."""
    return f"; did you mean {shown(name)}?" if name else ""


def nearest(name: Any, known: Iterable[str], least: float = 0.6) -> str | None:
    """The known name that was probably meant, if at least that part of the two is the same.

    Case is what people get wrong first, so it does not count.
    """
    from difflib import get_close_matches  # 5 ms, which a valid job need not pay

    by_lower = {choice.lower(): choice for choice in known if choice}
    close = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=least)
    return by_lower[close[0]] if close else None


def path_name(path: Path) -> str:
    """A path as messages show it.

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

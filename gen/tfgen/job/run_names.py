"""Run names that `tfgen rerun` assigns: 2, 3, ... after a run without a name, and lr-2, lr-3, ... after the run lr."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from tfgen.errors import TfgenError
from tfgen.schema import file as schema_file

UNNAMED: Final = "1"
"""The folder of the run without a name, if each run has a separate folder. Then no other run may have the name "1"."""

FIRST: Final = "2"
"""The name of the run that follows the run without a name."""

_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)")


def next_run(run: str, used: Collection[str] = ()) -> str:
    """Return the name of the next run: add 1 to the number at the end of the name, or append a number.

    If `used` contains the name, return the next name that `used` does not contain.

    >>> next_run(""), next_run("2"), next_run("lr-9"), next_run("warm"), next_run("0"), next_run("2", {"3", "4"})
    ('2', '3', 'lr-10', 'warm-2', '2', '5')

    Raises:
        TfgenError: the name would be too long.
    """
    numbered = _NUMBERED.fullmatch(run)
    if numbered:
        after = numbered[1] + str(int(numbered[2]) + 1).zfill(len(numbered[2]))
    else:
        after = f"{run}-{FIRST}" if run else FIRST
    if after == UNNAMED:
        after = FIRST
    longest = (schema_file.node(schema_file.load(), ("spec", "run")) or {})["maxLength"]
    if len(after) > longest:
        raise TfgenError(
            f"the name of the run after {run!r} would be {after!r}, longer than {longest} characters; set "
            "spec.run to a shorter name"
        )
    return next_run(after, used) if after in used else after


def precedes(run: str, later: str) -> bool:
    """Return True if a rerun, or several reruns, can give the run name `later` after the run name `run`.

    The two names have the same text before the number, and the number of `later` is greater. If `run` has no
    number, `later` consists of `run`, a hyphen and a number, or only of a number if `run` is empty.

    >>> precedes("", "2"), precedes("2", "10"), precedes("lr", "lr-2"), precedes("2", "lr-3"), precedes("3", "2")
    (True, True, True, False, False)
    """
    numbered, before = _NUMBERED.fullmatch(later), _NUMBERED.fullmatch(run)
    if numbered is None:
        return False
    if before is not None and before[1] == numbered[1]:
        return int(before[2]) < int(numbered[2])
    return numbered[1] == (f"{run}-" if run else "")

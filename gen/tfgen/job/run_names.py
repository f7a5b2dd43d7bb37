"""Names of runs, in the order in which `tfgen rerun` assigns them: no name, 2, 3, ...; or lr, lr-2, lr-3, ..."""

from __future__ import annotations

import re
from typing import Final

from tfgen.errors import TfgenError
from tfgen.schema import file as schema_file

UNNAMED: Final = "1"
"""The folder name of the run without a name, if runs have separate folders. No other run may have this name then."""

FIRST: Final = "2"
"""The run after the run without a name."""

_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)")


def next_run(run: str) -> str:
    """Return the name of the next run: the last number plus one, or a new number at the end.

    >>> next_run(""), next_run("2"), next_run("lr-9"), next_run("warm"), next_run("0")
    ('2', '3', 'lr-10', 'warm-2', '2')

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
            f"the run after {run!r} would be {after!r}, more than {longest} characters: choose a name for the run"
        )
    return after


def precedes(run: str, later: str) -> bool:
    """Return whether the second name is the name of a later run, by its number.

    >>> precedes("", "2"), precedes("2", "10"), precedes("lr", "lr-2"), precedes("2", "lr-3"), precedes("3", "2")
    (True, True, True, False, False)
    """
    numbered, before = _NUMBERED.fullmatch(later), _NUMBERED.fullmatch(run)
    if numbered is None:
        return False
    if before is not None and before[1] == numbered[1]:
        return int(before[2]) < int(numbered[2])
    return numbered[1] == (f"{run}-" if run else "")

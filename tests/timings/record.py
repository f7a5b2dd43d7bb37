"""The durations of a run, one in each line: kind, name, elapsed seconds, processor seconds, tier of a test.

    step	training	412	0
    test	tests/train/test_local.py::test_trains	31.2	44.0	train

`.ci/run` sets the name of the file in TFGEN_TIMINGS, and writes its steps to the file. pytest adds its tests and the
starts of their servers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

VARIABLE: Final = "TFGEN_TIMINGS"

Kind: TypeAlias = Literal["step", "test", "server", "build"]


class Duration(NamedTuple):
    """The time that a step, a test, the start of a server or the build of a program took."""

    kind: Kind
    name: str
    wall_s: float
    cpu_s: float = 0.0
    tier: str = ""


def append(durations: Iterable[Duration]) -> None:
    """Append durations to the file that TFGEN_TIMINGS names. Without the variable, do nothing."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    lines = "".join(
        f"{item.kind}\t{item.name}\t{item.wall_s:.2f}\t{item.cpu_s:.2f}\t{item.tier}\n" for item in durations
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(lines)


def read(path: Path) -> tuple[Duration, ...]:
    """Return the durations in a file.

    Raises:
        ValueError: A line has another format.
    """
    return tuple(_parse(line) for line in path.read_text(encoding="utf-8").splitlines())


def _parse(line: str) -> Duration:
    kind, name, wall_s, cpu_s, *tier = line.split("\t")
    if kind not in get_args(Kind):
        raise ValueError(f"{line!r}: the kind is one of {', '.join(get_args(Kind))}")
    return Duration(kind, name, float(wall_s), float(cpu_s), *tier)  # type: ignore[arg-type]

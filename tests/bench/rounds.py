"""Commands that are measured in turn, round by round, and the factor between two of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import median

from tests.bench.measure import Cost


def in_turn(commands: dict[str, Callable[[], Cost]], rounds: int) -> dict[str, list[float]]:
    """The seconds of some commands in each round, in which they are run in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            tell(f"round {number + 1} of {rounds}: {name}")
            seconds[name].append(command().seconds)
    return seconds


def factor(over: Sequence[float], under: Sequence[float]) -> float:
    """Return the median ratio of two costs. The two runs of a round are close in time, because the speed of a machine
    varies.
    """
    return median(a / b for a, b in zip(over, under, strict=True))


def tell(text: str) -> None:
    """Print the progress of the benchmark."""
    print(f"bench: {text}", file=sys.stderr, flush=True)

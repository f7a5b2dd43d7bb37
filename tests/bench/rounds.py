"""Alternating measurements of commands, round by round, and the ratio between two commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import median

from tests.bench.measure import Cost


def in_turn(commands: dict[str, Callable[[], Cost]], rounds: int) -> dict[str, list[float]]:
    """Run each command once in each round, and return the seconds of each command."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            tell(f"round {number + 1} of {rounds}: {name}")
            seconds[name].append(command().seconds)
    return seconds


def factor(over: Sequence[float], under: Sequence[float]) -> float:
    """Return the median ratio of two costs.

    The speed of a machine varies, but the two runs of a round are close in time.
    """
    return median(a / b for a, b in zip(over, under, strict=True))


def tell(text: str) -> None:
    """Print the progress of the benchmark."""
    print(f"bench: {text}", file=sys.stderr, flush=True)

"""Numbers with what they count. It imports nothing, so that `tfgen --help` starts as fast as Python does."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """A number and what is counted: "1 job", "2 jobs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

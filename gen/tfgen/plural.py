"""Numbers with nouns, such as "2 jobs". The module imports nothing, so that `tfgen --help` starts as fast as Python."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Return a number with a noun: "1 job", "2 jobs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

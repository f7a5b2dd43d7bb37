"""Limits the number of steps of one plan, so that the plan of a large cluster also takes only seconds."""

from __future__ import annotations

from typing import Final

STEPS: Final = 4_000_000
"""Maximum number of steps, which take about two seconds. A step examines one set of pods on one node."""


class Effort:
    """The remaining steps of a plan."""

    def __init__(self, steps: int = STEPS) -> None:
        self.steps = steps

    def take(self, steps: int) -> bool:
        """Use some steps, and return True if enough steps remained."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True

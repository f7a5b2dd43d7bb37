"""Limits the number of computing steps for a plan, so that even a plan for a large cluster takes only seconds."""

from __future__ import annotations

from typing import Final

STEPS: Final = 4_000_000
"""Maximum number of steps of a plan. So many steps take about two seconds. A step examines a set of pods on a node."""


class Effort:
    """The number of steps that a plan may still take."""

    def __init__(self, steps: int = STEPS) -> None:
        self.steps = steps

    def take(self, steps: int) -> bool:
        """Subtract `steps` from the remaining steps, and return True. Return False if fewer steps remain."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True

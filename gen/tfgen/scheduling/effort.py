"""A limit on the work of one plan, so that a large cluster takes only a moment. Equal plans do equal work."""

from __future__ import annotations

from typing import Final

STEPS: Final = 4_000_000
"""Number of steps, which take about two seconds. A step examines one set of pods on one node."""


class Effort:
    """The remaining steps of a plan."""

    def __init__(self, steps: int = STEPS) -> None:
        self.steps = steps

    def take(self, steps: int) -> bool:
        """Return whether enough steps remain, and take the steps."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True

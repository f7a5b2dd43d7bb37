"""A bound on the work of one plan, so that a large cluster costs no more than a moment. Equal plans do equal work."""

from __future__ import annotations

from typing import Final

STEPS: Final = 4_000_000
"""About two seconds of steps; a step looks at one set of pods on one node."""


class Effort:
    """The steps that are left to a plan."""

    def __init__(self, steps: int = STEPS) -> None:
        self.steps = steps

    def take(self, steps: int) -> bool:
        """Return whether some steps are left, and take them."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True

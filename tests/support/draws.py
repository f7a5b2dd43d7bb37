"""Profiles of hypothesis: the settings of tests that draw their values.

`dev` draws new values in each run, `ci` the same values each time, so that a red run is due to its change. `shrink` is
for the developer who waits minutes for a smaller job that fails:

    pytest tests/property -k graph_laws --hypothesis-profile=shrink
"""

from __future__ import annotations

import os
from typing import Final

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.internal.conjecture import engine

_SHRINK = "shrink"

SHRINKING_SECONDS: Final = 20
"""Seconds in which hypothesis searches for a smaller example of a failure; by itself, it takes up to 300."""


def load_profile() -> None:
    """Load the profile for CI, or for a developer's machine."""
    # No deadline: many properties run real programs, whose first start is slow.
    hypothesis.settings.register_profile("dev", deadline=None)
    hypothesis.settings.register_profile(_SHRINK, deadline=None)
    hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
    hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


def bound_shrinking(profile: str) -> None:
    """Bound the search for smaller examples, but for the profile `shrink`."""
    if profile != _SHRINK:
        engine.MAX_SHRINKING_SECONDS = SHRINKING_SECONDS  # hypothesis has no setting for it


def drawn(count: int) -> hypothesis.settings:
    """Return the settings of a test that draws so many jobs; the test searches for a smaller one under `shrink`."""
    may_shrink = hypothesis.settings.get_current_profile_name() == _SHRINK
    return hypothesis.settings(
        max_examples=count,
        phases=[phase for phase in Phase if may_shrink or phase is not Phase.shrink],
        # A job is slow to draw, large, and now and then no job that tfgen accepts. Where no job is, hypothesis fails.
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )

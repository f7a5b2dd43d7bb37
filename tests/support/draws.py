"""Profiles of hypothesis: the settings of tests that draw their values.

`dev` draws new values in each run. `ci` draws the same values in each run, so a failed run is due to a change of the
code. `shrink` is for a developer who waits minutes for a smaller job that fails. `nightly` draws new values in each
run, and many more of them:

    pytest tests/property -k new_run --hypothesis-profile=shrink
    pytest -m 'hypothesis and long' --hypothesis-profile=nightly
"""

from __future__ import annotations

import os
from typing import Final

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.internal.conjecture import engine

_SHRINK = "shrink"
_NIGHTLY = "nightly"

NIGHTLY_TIMES: Final = 10
"""Number of values that the profile `nightly` draws for each value of the other profiles."""

SHRINKING_SECONDS: Final = 20
"""Seconds in which hypothesis searches for a smaller example of a failure. The default of hypothesis is 300."""


def load_profile() -> None:
    """Load the profile for CI, or for a developer's machine."""
    # No deadline: many properties run real programs, whose first start is slow.
    hypothesis.settings.register_profile("dev", deadline=None)
    hypothesis.settings.register_profile(_SHRINK, deadline=None)
    hypothesis.settings.register_profile(_NIGHTLY, deadline=None, print_blob=True)
    hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
    hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


def bound_shrinking(profile: str) -> None:
    """Bound the search for smaller examples, except in the profile `shrink`."""
    if profile != _SHRINK:
        engine.MAX_SHRINKING_SECONDS = SHRINKING_SECONDS  # hypothesis has no setting for the bound


def drawn(count: int) -> hypothesis.settings:
    """Return the settings of a test that draws `count` jobs, or more in the profile `nightly`.

    Only the profile `shrink` searches for smaller jobs.
    """
    profile = hypothesis.settings.get_current_profile_name()
    may_shrink = profile == _SHRINK
    return hypothesis.settings(
        max_examples=count * (NIGHTLY_TIMES if profile == _NIGHTLY else 1),
        phases=[phase for phase in Phase if may_shrink or phase is not Phase.shrink],
        # A drawn job is slow and large, and tfgen sometimes rejects the job. If tfgen rejects all, hypothesis fails.
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )

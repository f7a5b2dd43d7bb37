"""Search for all changes that loosen the guard rails of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.change.guard_rails.allowed import find_added_files, find_added_names, find_unenforced_projects
from tfgen.change.guard_rails.enforced import find_unenforced
from tfgen.change.guard_rails.layers import Layers, Loosening
from tfgen.change.guard_rails.limits import find_higher_limits
from tfgen.change.guard_rails.severities import find_lower_severities

_FINDERS: Final = (
    find_unenforced,
    find_higher_limits,
    find_lower_severities,
    find_unenforced_projects,
    find_added_names,
    find_added_files,
)


def find_loosened(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each guard rail that is looser for the jobs of a folder in the change than in the base."""
    for find in _FINDERS:
        yield from find(layers)

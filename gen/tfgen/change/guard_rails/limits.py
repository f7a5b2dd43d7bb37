"""Limits that a change raises or removes.

base      limits: {job: {gpus: 16}}
change    limits: {job: {gpus: 32}}
"""

from __future__ import annotations

from collections.abc import Iterator

from tfgen.change.guard_rails.layers import Layers, Loosening
from tfgen.check.limits import limit_paths, limit_value, written_limit
from tfgen.words import path_name, shown


def find_higher_limits(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each limit of the base that the change raises or removes."""
    for layer in layers.layers_before():
        for path in limit_paths(layer):
            with_limit = [new for new in layers.layers_after() if path in limit_paths(new)]
            lowest = min(with_limit, key=lambda new: limit_value(new, path), default=None)
            if lowest is not None and limit_value(lowest, path) <= limit_value(layer, path):
                continue
            whole = ("limits", *path)
            rail = layer.place(whole)
            limit = "no limit" if lowest is None else shown(written_limit(lowest, path))
            allowed = f"{layers.in_base(rail)} allows {shown(written_limit(layer, path))}"
            yield layers.loosening(rail, whole, f"{path_name(whole)}: found {limit}, but {allowed}")

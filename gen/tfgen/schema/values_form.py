"""What decides how the files of a chart's values look, but for the values: most jobs of a team have it alike.

So what is printed of it, and of values that are the schema's defaults, is put together once for all jobs that have it,
within a bound.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from tfgen.kubernetes.volume_profiles import Profile, refuses
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import workload_kinds as kinds
from tfgen.schema.chart_values import told_environments
from tfgen.schema.tunables import ValuesPath, tunables


class ValuesForm(Record):
    """The form of a chart's values.

    Attributes:
        paths: those that there are, in the schema's order.
        lacks: the paths of what a job's kind or profile has no place for, such as ``storage.*.nfs``.
        environments: those that the chart is told, as `told_environments` has them.
    """

    paths: tuple[ValuesPath, ...]
    lacks: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()


once_a_form: Final = functools.lru_cache(maxsize=64)
"""For a function of a form: it does its work once for each, and keeps it for those that were asked for last."""


def values_form(spec: Mapping[str, Any]) -> ValuesForm:
    """The form of the values of a job's chart."""
    return ValuesForm(tuple(tunable.path for tunable in tunables(spec)), _lacks(spec), told_environments(spec))


def _lacks(spec: Mapping[str, Any]) -> tuple[str, ...]:
    profile = spec.get("security", {}).get("profile", "restricted")
    return tuple(dict.fromkeys([*(lack.path for lack in kinds.without(spec)), *_refused_volumes(profile)]))


@functools.cache
def _refused_volumes(profile: Profile) -> tuple[str, ...]:
    """The sources of volumes that a Pod Security profile refuses."""
    keys = schema_file.load()["definitions"]["volume"]["oneOf"]
    sources = (choice["required"][0] for choice in keys)
    return tuple(f"storage.*.{source}" for source in sources if source != "claim" and refuses(profile, source))

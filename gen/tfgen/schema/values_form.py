"""What decides how the files of a chart's values look, but for the values: most jobs of a team have it alike.

So what is printed of it, and of values that are the schema's defaults, is put together once for all jobs that have it,
within a bound.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self

from tfgen import data_path
from tfgen.kubernetes.volume_profiles import Profile, refuses
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.schema import workload_kinds as kinds
from tfgen.schema.chart_values import told_environments
from tfgen.schema.tunables import ValuesPath


class ValuesForm(Record):
    """The form of a chart's values.

    Attributes:
        paths: those that there are, in the schema's order.
        lacks: the paths of what a job's kind or profile has no place for, such as ``storage.*.nfs``.
        environments: those that the chart is told, as `told_environments` has them.
        idle: the paths of values that no template reads and that a job may set, as an environment may.
    """

    paths: tuple[ValuesPath, ...]
    lacks: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    idle: tuple[ValuesPath, ...] = ()


once_a_form: Final = functools.lru_cache(maxsize=64)
"""For a function of a form: it does its work once for each, and keeps it for those that were asked for last."""


class ValuesText(Record):
    """What a chart's file says of some values.

    Attributes:
        paths: those of the values.
        start: what stands before them.
        write: makes the text of the values themselves.
        end: what stands behind that text.
        defaults: what the schema has for them, as most of them are.
        of_defaults: the text of these.
    """

    paths: tuple[ValuesPath, ...]
    start: str
    write: Callable[[Sequence[Any]], str]
    end: str
    defaults: tuple[Any, ...]
    of_defaults: str

    @classmethod
    def of(cls, paths: Iterable[ValuesPath], start: str, write: Callable[[Sequence[Any]], str], end: str = "") -> Self:
        """What is said of values, with the text of their defaults."""
        places = tuple(paths)
        defaults = tuple(tunables.at(path).default for path in places)
        return cls(places, start, write, end, defaults, write(defaults))

    def text(self, values: Mapping[str, Any]) -> str:
        """What is said of the values at the paths, start and end with it."""
        own = [data_path.follow(values, path) for path in self.paths]
        # Equal is not enough: True is equal to 1, and is written otherwise.
        is_default = all(map(operator.is_, own, self.defaults))
        return f"{self.start}{self.of_defaults if is_default else self.write(own)}{self.end}"


def values_form(spec: Mapping[str, Any]) -> ValuesForm:
    """The form of the values of a job's chart."""
    paths = tuple(tunable.path for tunable in tunables.tunables(spec))
    return ValuesForm(paths, _lacks(spec), told_environments(spec), tunables.idle_paths(spec))


def _lacks(spec: Mapping[str, Any]) -> tuple[str, ...]:
    profile = spec.get("security", {}).get("profile", "restricted")
    return tuple(dict.fromkeys([*(lack.path for lack in kinds.without(spec)), *_refused_volumes(profile)]))


@functools.cache
def _refused_volumes(profile: Profile) -> tuple[str, ...]:
    """The sources of volumes that a Pod Security profile refuses."""
    keys = schema_file.load()["definitions"]["volume"]["oneOf"]
    sources = (choice["required"][0] for choice in keys)
    return tuple(f"storage.*.{source}" for source in sources if source != "claim" and refuses(profile, source))

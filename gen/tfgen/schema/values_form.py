"""The paths of the values in a chart's values.yaml, without the values. Most jobs of a team have the same paths.

tfgen therefore caches the texts that depend only on the paths (`ValuesForm`), and the text of the default values.
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
from tfgen.schema.chart_values import environments_if_patched
from tfgen.schema.tunables import ValuesPath


class ValuesForm(Record):
    """The paths of a chart's values, without the values. Charts with equal `ValuesForm` share cached texts.

    Attributes:
        paths: the paths of the values, in the order of the schema.
        unsupported_paths: the paths that the workload kind or the Pod Security profile of a job does not support, such
            as ``storage.*.nfs``.
        environments: the names of all environments if an environment of the job sets `patches`; or else empty.
        idle: the paths of values that a job or an environment may set, but that no template reads.
    """

    paths: tuple[ValuesPath, ...]
    unsupported_paths: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    idle: tuple[ValuesPath, ...] = ()


once_a_form: Final = functools.lru_cache(maxsize=64)
"""Decorator that caches the results of a function for the 64 most recently used `ValuesForm` arguments."""


class ValuesPart(Record):
    """A part of a chart file that contains values, such as an entry of values.yaml with its comment.

    Attributes:
        paths: the paths of the values.
        start: the text before the values.
        write: function that returns the text of the values. The argument has the value of each path, in the same order;
            None for an optional value that is not set.
        end: the text after the values.
        defaults: the default of the value at each path.
        of_defaults: the text that `write` returns for `defaults`.
    """

    paths: tuple[ValuesPath, ...]
    start: str
    write: Callable[[Sequence[Any]], str]
    end: str
    defaults: tuple[Any, ...]
    of_defaults: str

    @classmethod
    def of(cls, paths: Iterable[ValuesPath], start: str, write: Callable[[Sequence[Any]], str], end: str = "") -> Self:
        """Create a part of a chart file. The text of the default values is computed once."""
        places = tuple(paths)
        defaults = tuple(tunables.at(path).default for path in places)
        return cls(places, start, write, end, defaults, write(defaults))

    def text(self, values: Mapping[str, Any]) -> str:
        """Return the text of the part. `values` are the complete values of a job."""
        current = [data_path.at(values, path) for path in self.paths]
        # Equal values are not sufficient: True equals 1, but has a different text.
        is_default = all(map(operator.is_, current, self.defaults))
        return f"{self.start}{self.of_defaults if is_default else self.write(current)}{self.end}"


def values_form(spec: Mapping[str, Any]) -> ValuesForm:
    """Return the paths of the values in the chart of a job."""
    paths = tuple(tunable.path for tunable in tunables.tunables(spec))
    return ValuesForm(paths, _unsupported_paths(spec), environments_if_patched(spec), tunables.idle_paths(spec))


def _unsupported_paths(spec: Mapping[str, Any]) -> tuple[str, ...]:
    profile = spec.get("security", {}).get("profile", "restricted")
    return tuple(dict.fromkeys([*(lack.path for lack in kinds.unsupported_keys(spec)), *_refused_volumes(profile)]))


@functools.cache
def _refused_volumes(profile: Profile) -> tuple[str, ...]:
    """Return the paths of the volume sources that a Pod Security profile refuses, such as ``storage.*.nfs``."""
    keys = schema_file.load()["definitions"]["volume"]["oneOf"]
    sources = (choice["required"][0] for choice in keys)
    return tuple(f"storage.*.{source}" for source in sources if source != "claim" and refuses(profile, source))

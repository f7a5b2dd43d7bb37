"""What a rule reads of a job, seen while it runs: where an environment does not differ in it, nothing new comes of it.

reading = Reading()
values = Noted(job.values, reading)
values["roles"]["worker"]["replicas"]
reading.paths                           -> {("roles", "worker", "replicas")}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.schema import tunables

ALL: Final[Path] = ()
"""The path of what differs in every environment, if only by the environment's name."""


class Reading:
    """What is read.

    Attributes:
        paths: values paths. All that is below one is read.
        sayings: the paths of which it counts whether the environment itself says them.
    """

    def __init__(self) -> None:
        self.paths: set[Path] = set()
        self.sayings: set[Path] = set()

    def begin(self) -> None:
        """Forget all, for the next who reads."""
        self.paths, self.sayings = set(), set()


class Noted(Mapping[str, Any]):
    """Complete values, or a record of them, in which a look at a value is noted. A value itself is plain data."""

    def __init__(self, values: Mapping[str, Any], reading: Reading, path: Path = ()) -> None:
        self._values, self._reading, self._path = values, reading, path
        self._records = {
            key: Noted(value, reading, (*path, key))
            for key, value in values.items()
            if type(value) is dict and (*path, key) not in tunables.all_leaves()
        }

    def __getitem__(self, key: str) -> Any:
        record = self._records.get(key)
        if record is not None:
            return record
        self._reading.paths.add((*self._path, key))
        return self._values[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or what is to stand for one that is missing."""
        record = self._records.get(key)
        if record is not None:
            return record
        self._reading.paths.add((*self._path, key))
        return self._values.get(key, default)

    def __contains__(self, key: object) -> bool:
        if key not in self._records:
            self._reading.paths.add((*self._path, str(key)))
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        self._reading.paths.add(self._path)
        return iter(self._values)

    def __len__(self) -> int:
        self._reading.paths.add(self._path)
        return len(self._values)

"""Record of the values that a rule reads. tfgen runs the rule again only for an environment that changes such a value.

A read of `values["roles"]["worker"]["replicas"]` adds the path ("roles", "worker", "replicas") to the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.schema import tunables

ALL: Final[Path] = ()
"""Path that represents data which differs in every environment, such as the name of the environment."""


class Reading:
    """Record of the reads of a rule.

    Attributes:
        paths: the values paths that the rule reads. A path includes all values under the path.
        queried_paths: the paths that the rule passes to `View.is_set_in_environment`.
    """

    def __init__(self) -> None:
        self.paths: set[Path] = set()
        self.queried_paths: set[Path] = set()

    def begin(self) -> None:
        """Clear the record before the next rule."""
        self.paths, self.queried_paths = set(), set()


class TrackedValues(Mapping[str, Any]):
    """Mapping that contains the values of a job, or a part of the values, and records each read of a value.

    Nested mappings are tracked too. Lists and scalars are plain data.
    """

    def __init__(self, values: Mapping[str, Any], reading: Reading, path: Path = ()) -> None:
        self._values, self._reading, self._path = values, reading, path
        self._records = {
            key: TrackedValues(value, reading, (*path, key))
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
        """Return the value at a key, or the default for a missing key."""
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

"""Find the origin of each value of a job: the job file, a tfgen.yaml, or the default of the schema.

spec.image        "registry.example.com/ml/mnist:1.4.0"  jobs/mnist/job.yaml:5:10, registry of tfgen.yaml:3:11
spec.gang.queue   "research"                             tfgen.yaml:7:17
spec.retries      20                                     default
"""

from __future__ import annotations

from typing import Any

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Place
from tfgen.job.facts import check_environment, environments_of
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.text.document import Document
from tfgen.words import columns, path_name, shown

_LONGEST = 60
_PROJECT: Path = ("gitops", "argocd", "project")


class Origin(Record):
    """A value of a job, and the line that sets the value.

    Attributes:
        path: the path of the field in the job, such as ("spec", "retries"), even if `environments.dev` sets the value.
        place: the file, line and column that set the value; None for a default of the schema.
        registry: the file, line and column that set the registry of an image; None if the image contains its registry.
    """

    path: Path
    value: Any
    place: Place | None = None
    registry: Place | None = None

    def __str__(self) -> str:
        """Return the origin as text: ``FILE:LINE:COLUMN``, or ``default`` for a default of the schema."""
        if self.place is None:
            return "default"
        return f"{self.place}, registry of {self.registry}" if self.registry else str(self.place)


def origins(document: Document, environment: str | None = None) -> tuple[Origin, ...]:
    """Return all values of a job or of an environment with their origins, in the order of the schema.

    Args:
        document: a valid job, merged with its defaults.
        environment: the name of the environment; None for the job without an environment.

    Raises:
        UsageError: the job has no such environment.
    """
    spec = document.data["spec"]
    override = {}
    if environment is not None:
        check_environment(document, environment)
        override = tunables.overrides(environments_of(document)[environment])
    merged = tunables.merge(tunables.without_environments(spec), override)
    complete = tunables.merge(tunables.values(merged), merged)
    ordered = tunables.order_keys(complete, schema_file.load()["properties"]["spec"])
    return tuple(_origin(document, environment, path, value) for path, value in data_path.leaves(ordered))


def as_table(rows: tuple[Origin, ...]) -> str:
    """Return a text table with one line for each value. The columns are path, value and origin."""
    return columns([(path_name(row.path), shown(row.value, _LONGEST), str(row)) for row in rows])


def as_rows(rows: tuple[Origin, ...]) -> list[dict[str, Any]]:
    """Return the origins as JSON data. `file`, `line` and `column` are null for a default of the schema."""
    return [
        {
            "path": path_name(row.path),
            "value": row.value,
            "file": row.place.file if row.place else None,
            "line": row.place.position.line if row.place else None,
            "column": row.place.position.column if row.place else None,
            "registry": str(row.registry) if row.registry else None,
        }
        for row in rows
    ]


def _origin(document: Document, environment: str | None, path: Path, value: Any) -> Origin:
    paths = [("spec", "environments", environment, *path)] if environment is not None else []
    for candidate in (*paths, ("spec", *path)):
        for layer in document.layers():
            layer_value = data_path.at(layer.data, candidate)
            if layer_value is not None:
                registry = _registry(document) if isinstance(value, (str, list)) and layer_value != value else None
                return Origin(("spec", *path), value, Place(layer.file, layer.value(candidate)), registry)
            if _removes(layer.data, candidate):
                break
    if path == _PROJECT and document.under and data_path.has(document.under.data, ("argocd", "project")):
        return Origin(("spec", *path), value, document.under.place(("argocd", "project")))
    return Origin(("spec", *path), value)


def _removes(data: Any, path: Path) -> bool:
    """Return True if `data` contains null at a path or at a parent of the path. Null removes the inherited value."""
    around = (path[:end] for end in range(1, len(path) + 1))
    return any(data_path.has(data, part) and data_path.at(data, part) is None for part in around)


def _registry(document: Document) -> Place | None:
    return document.under.place(("registry",)) if document.under else None

"""Read single fields of a valid job document, such as the name of the job, the environments and the name of the run.

`training_job.TrainingJob` has the complete content of a job.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Place, TfgenError, UsageError
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.text.document import Document
from tfgen.words import columns, command_line, either, meant, nearest, path_name, shown

# -- the fields --------------------------------------------------------------------------------------------------------


def name_of(document: Document) -> str:
    """Return the name of the job."""
    name: str = document.data["metadata"]["name"]
    return name


def own_data(document: Document) -> Any:
    """Return the content of the job's YAML document, without the defaults from the tfgen.yaml files."""
    return document.data if document.unmerged is None else document.unmerged


def environments_of(document: Document) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of each environment, by name of the environment. Example: {"dev": {"retries": 3}}."""
    environments: Mapping[str, Mapping[str, Any]] = document.data["spec"].get("environments", {})
    return environments


def rendered_branch(document: Document) -> str:
    """Return `gitops.rendered.branch`; empty if the rendered files are in the same branch as the job file."""
    gitops = document.data["spec"].get("gitops", {})
    branch: str = gitops.get("rendered", {}).get("branch", "")
    return branch


def source_branch(document: Document) -> str:
    """Return `gitops.branch`, the branch that contains the job file."""
    schema = schema_file.load()["properties"]["spec"]["properties"]["gitops"]
    branch: str = schema_file.complete(schema_file.load(), schema, document.data["spec"]["gitops"])["branch"]
    return branch


def run_of(data: Mapping[str, Any], environment: str | None) -> str:
    """Return the run name of a job in an environment; empty for a run without a name.

    If `environment` is None, return the run name of the job without an environment.
    """
    spec = data["spec"]
    variant_data = spec if environment is None else spec["environments"][environment]
    run: str = variant_data.get("run", spec.get("run", ""))
    return run


def check_environment(document: Document, name: str) -> None:
    """Check that the job has an environment.

    Raises:
        UsageError: the job has no environment with this name.
    """
    environments = environments_of(document)
    if name not in environments:
        choice = f"choose {either(environments)}" if environments else "add the environment to spec.environments"
        raise UsageError(f"{document.file}: the job has no environment {name!r}; {choice}")


# -- one job of a file -------------------------------------------------------------------------------------------------


_NAME = ("metadata", "name")


def choose_job(documents: Sequence[Document], file: str, name: str | None) -> Document:
    """Return the job with a name. Without a name, return the only job of the file.

    Args:
        documents: the documents of the file.
        file: the name of the file, for messages.
        name: the value of the option `--job`, or None.

    Raises:
        UsageError: the file has no job with this name, or the file has several jobs and `name` is None.
    """
    names = [str(data_path.at(document.data, _NAME)) for document in documents]
    if name is None:
        if len(documents) == 1:
            return documents[0]
        jobs = f": {either(names, 'and')}; choose a job with --job NAME" if names else ""
        raise UsageError(f"{file}: found {len(documents)} jobs{jobs}")
    if name not in names:
        hint = meant(nearest(name, names)) or f"; the jobs are {either(names, 'and')}" if names else ""
        raise UsageError(f"{file}: found no job {shown(name)}{hint}")
    return documents[names.index(name)]


def command_for(document: Document, command: str, *options: str) -> str:
    """Return a tfgen command for a job, for a message. If the file has several jobs, the command chooses the job.

    Args:
        document: the valid job.
        command: a command with the option `--job`, such as "rerun".
        options: further arguments of the command, such as "--env" and "prod".
    """
    job = ("--job", name_of(document)) if document.has_siblings else ()
    return command_line(command, document.file, *job, *options)


# -- the names of runs -------------------------------------------------------------------------------------------------


UNNAMED: Final = "1"
"""The folder of the run without a name, if each run has a separate folder. Then no other run may have the name "1"."""

FIRST: Final = "2"
"""The name of the run that follows the run without a name."""

_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)")


def next_run(run: str, used: Collection[str] = ()) -> str:
    """Return the name of the next run: add 1 to the number at the end of the name, or append a number.

    If `used` contains the name, return the next name that `used` does not contain.

    >>> next_run(""), next_run("2"), next_run("lr-9"), next_run("warm"), next_run("0"), next_run("2", {"3", "4"})
    ('2', '3', 'lr-10', 'warm-2', '2', '5')

    Raises:
        TfgenError: the name would be too long.
    """
    numbered = _NUMBERED.fullmatch(run)
    if numbered:
        after = numbered[1] + str(int(numbered[2]) + 1).zfill(len(numbered[2]))
    else:
        after = f"{run}-{FIRST}" if run else FIRST
    if after == UNNAMED:
        after = FIRST
    longest = (schema_file.node(schema_file.load(), ("spec", "run")) or {})["maxLength"]
    if len(after) > longest:
        raise TfgenError(
            f"the name of the run after {run!r} would be {after!r}, longer than {longest} characters; set "
            "spec.run to a shorter name"
        )
    return next_run(after, used) if after in used else after


def precedes(run: str, later: str) -> bool:
    """Return True if a rerun, or several reruns, can give the run name `later` after the run name `run`.

    The two names have the same text before the number, and the number of `later` is greater. If `run` has no
    number, `later` consists of `run`, a hyphen and a number, or only of a number if `run` is empty.

    >>> precedes("", "2"), precedes("2", "10"), precedes("lr", "lr-2"), precedes("2", "lr-3"), precedes("3", "2")
    (True, True, True, False, False)
    """
    numbered, before = _NUMBERED.fullmatch(later), _NUMBERED.fullmatch(run)
    if numbered is None:
        return False
    if before is not None and before[1] == numbered[1]:
        return int(before[2]) < int(numbered[2])
    return numbered[1] == (f"{run}-" if run else "")


# -- the origin of values ----------------------------------------------------------------------------------------------
#
# Find the origin of each value of a job: the job file, a tfgen.yaml, or the default of the schema.
#
# spec.image        "registry.example.com/ml/mnist:1.4.0"  jobs/mnist/job.yaml:5:10, registry of tfgen.yaml:3:11
# spec.gang.queue   "research"                             tfgen.yaml:7:17
# spec.retries      20                                     default


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
            # Null at the path or at a parent removes the inherited value.
            around = (candidate[:end] for end in range(1, len(candidate) + 1))
            if any(data_path.has(layer.data, part) and data_path.at(layer.data, part) is None for part in around):
                break
    if path == _PROJECT and document.under and data_path.has(document.under.data, ("argocd", "project")):
        return Origin(("spec", *path), value, document.under.place(("argocd", "project")))
    return Origin(("spec", *path), value)


def _registry(document: Document) -> Place | None:
    return document.under.place(("registry",)) if document.under else None

"""Where a new job goes, and what it has there without saying it: beside the jobs that are there.

find_place(Path("."), "video")  ->  Place(Path("jobs/video/job.yaml"), schema="../../schemas/job.schema.json", ...)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tfgen import data_path
from tfgen.check.jobs import check
from tfgen.job.output_root import is_root, root_above
from tfgen.job.sources import defaults_under, read_sources
from tfgen.places import JOB_SCHEMA
from tfgen.real_path import real_path
from tfgen.record import Record
from tfgen.tree.disk_file import read_file

JOB_FILE: Final = "job.yaml"

_ANY_JOB: Final = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: any}
spec: {image: any:1, roles: {chief: {}, ps: {}, worker: {}}}
"""


class Place(Record):
    """Where a job's file is to be.

    Attributes:
        path: of the file.
        schema: the path from there to a schema that the jobs of the repository share; None where there is none.
        has_registry: whether a tfgen.yaml above it names the registry of its image.
        environments: those that a tfgen.yaml above it names.
    """

    path: Path
    schema: str | None = None
    has_registry: bool = False
    environments: tuple[str, ...] = ()


def find_place(name: str, folder: Path | None) -> Place:
    """The place of a new job.

    Args:
        name: the job's.
        folder: where its own folder is to be; None for where the jobs of the repository are.

    Raises:
        UsageError: a folder cannot be read.
    """
    path = folder / name / JOB_FILE if folder is not None else _beside_jobs(name)
    defaults = _defaults(path)
    environments = data_path.at(defaults, ("spec", "environments")) or {}
    return Place(path, _shared_schema(path), bool(data_path.at(defaults, ("registry",))), tuple(environments))


def _beside_jobs(name: str) -> Path:
    """The file of a new job in the folder that all jobs below the working directory are in, as most files are called.

    Outside of a repository nothing is looked for: the working directory may be anybody's home.
    """
    here = Path()
    root = root_above(here)
    sources = read_sources([here], may_be_none=True) if root is not None and is_root(root) else []
    files = [Path(source.file) for source in sources]
    own = [file.parent.parent for file in files if file.name == JOB_FILE and file.parent != here]
    together = [file.parent for file in files if file.name != JOB_FILE]
    if len(together) > len(own):
        return _shared_folder(together) / f"{name}.yaml"
    return (_shared_folder(own) if own else here) / name / JOB_FILE


def _shared_folder(folders: Sequence[Path]) -> Path:
    return Path(os.path.commonpath(folders)) if Path() not in folders else Path()


def _defaults(path: Path) -> Any:
    """What the tfgen.yaml files above a job say together; None where there is none, or one has errors."""
    layers = defaults_under(path, lambda file: read_file(file) if file.is_file() else None)
    if layers is None:
        return None
    documents = check(_ANY_JOB, str(path), layers).documents
    return documents[0].under.data if documents and documents[0].under else None


def _shared_schema(path: Path) -> str | None:
    """The nearest schema above a job that is no other job's own, up to the root, as the job's first line names it."""
    folder = real_path(path.parent)
    root = root_above(folder if folder.is_dir() else Path())
    for above in folder.parents:
        for schema in (above / JOB_SCHEMA, above / "schemas" / JOB_SCHEMA):
            if schema.is_file():
                return Path(os.path.relpath(schema, folder)).as_posix()
        if above == root:
            break
    return None

"""Choose the path of a new job file next to the existing jobs, and find the defaults for this path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tfgen import data_path
from tfgen.check.jobs import check
from tfgen.disk_file import read_file, real_path
from tfgen.job.sources import defaults_under, is_root, read_sources, root_above
from tfgen.places import JOB_FILE, JOB_SCHEMA
from tfgen.record import Record

_ANY_JOB: Final = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: any}
spec: {image: any:1, roles: {chief: {}, ps: {}, worker: {}}}
"""


class Place(Record):
    """The path of a new job file, and the defaults that its folder inherits.

    Attributes:
        path: the path of the job file.
        schema: the relative path from the job file to the JSON schema in the repository; None without such a schema.
        has_registry: whether an inherited tfgen.yaml sets the registry of the image.
        environments: the names of the environments in the inherited tfgen.yaml files.
    """

    path: Path
    schema: str | None = None
    has_registry: bool = False
    environments: tuple[str, ...] = ()


def find_place(name: str, folder: Path | None) -> Place:
    """Return the path and the defaults of a new job file.

    Args:
        name: the name of the job.
        folder: the parent folder of the new job; None for the folder that contains all existing jobs.

    Raises:
        UsageError: a folder cannot be read.
    """
    path = folder / name / JOB_FILE if folder is not None else _path_with_jobs(name)
    defaults = _defaults(path)
    environments = data_path.at(defaults, ("spec", "environments")) or {}
    return Place(path, _shared_schema(path), bool(data_path.at(defaults, ("registry",))), tuple(environments))


def _path_with_jobs(name: str) -> Path:
    """Return the path of a new job in the folder that contains all existing jobs: NAME/job.yaml or NAME.yaml.

    The new path has the form of most existing paths. Outside a repository, the result is NAME/job.yaml in the working
    directory, and tfgen does not search for jobs, because the search of a home folder takes long.
    """
    working_directory = Path()
    root = root_above(working_directory)
    sources = read_sources([working_directory], may_be_none=True) if root is not None and is_root(root) else []
    files = [Path(source.file) for source in sources]
    parents_of_job_folders = [
        file.parent.parent for file in files if file.name == JOB_FILE and file.parent != working_directory
    ]
    folders_of_named_files = [file.parent for file in files if file.name != JOB_FILE]
    if len(folders_of_named_files) > len(parents_of_job_folders):
        return _shared_folder(folders_of_named_files) / f"{name}.yaml"
    parent = _shared_folder(parents_of_job_folders) if parents_of_job_folders else working_directory
    return parent / name / JOB_FILE


def _shared_folder(folders: Sequence[Path]) -> Path:
    return Path(os.path.commonpath(folders)) if Path() not in folders else Path()


def _defaults(path: Path) -> Any:
    """Return the merged defaults of a job file; None if no tfgen.yaml exists, or if a tfgen.yaml has errors."""
    layers = defaults_under(path, lambda file: read_file(file) if file.is_file() else None)
    if layers is None:
        return None
    documents = check(_ANY_JOB, str(path), layers).documents
    return documents[0].under.data if documents and documents[0].under else None


def _shared_schema(path: Path) -> str | None:
    """Return the relative path of the nearest JSON schema in the parent folders of a job; None if no schema exists."""
    folder = real_path(path.parent)
    root = root_above(folder if folder.is_dir() else Path())
    for parent in folder.parents:
        for schema in (parent / JOB_SCHEMA, parent / "schemas" / JOB_SCHEMA):
            if schema.is_file():
                return Path(os.path.relpath(schema, folder)).as_posix()
        if parent == root:
            break
    return None

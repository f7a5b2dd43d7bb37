"""The place of a new job: its path in the folder of the existing jobs, and the defaults that apply there.

find_place("video", None)  ->  Place(Path("jobs/video/job.yaml"), schema="../../schemas/job.schema.json", ...)
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
    """The place of a new job file.

    Attributes:
        path: the path of the file.
        schema: the path from the file to the schema that all jobs of the repository use; None without such a schema.
        has_registry: whether a tfgen.yaml above the file names the registry of the image.
        environments: the environments that a tfgen.yaml above the file names.
    """

    path: Path
    schema: str | None = None
    has_registry: bool = False
    environments: tuple[str, ...] = ()


def find_place(name: str, folder: Path | None) -> Place:
    """Return the place of a new job.

    Args:
        name: the name of the job.
        folder: the parent folder of the new job; None for the folder with the jobs of the repository.

    Raises:
        UsageError: a folder cannot be read.
    """
    path = folder / name / JOB_FILE if folder is not None else _path_with_jobs(name)
    defaults = _defaults(path)
    environments = data_path.at(defaults, ("spec", "environments")) or {}
    return Place(path, _shared_schema(path), bool(data_path.at(defaults, ("registry",))), tuple(environments))


def _path_with_jobs(name: str) -> Path:
    """Return the path of a new job in the common folder of the existing jobs, named like most of their files.

    Most files are NAME/job.yaml, with a folder for each job, or NAME.yaml, in one folder. Outside a repository, the
    working directory may be a home folder, which takes long to read. So the job gets a folder in the working directory.
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
    """Return the merged data of the tfgen.yaml files above a job; None without such a file, or if a file has errors."""
    layers = defaults_under(path, lambda file: read_file(file) if file.is_file() else None)
    if layers is None:
        return None
    documents = check(_ANY_JOB, str(path), layers).documents
    return documents[0].under.data if documents and documents[0].under else None


def _shared_schema(path: Path) -> str | None:
    """Return the relative path of the nearest schema in a folder above the folder of a job, up to the root."""
    folder = real_path(path.parent)
    root = root_above(folder if folder.is_dir() else Path())
    for parent in folder.parents:
        for schema in (parent / JOB_SCHEMA, parent / "schemas" / JOB_SCHEMA):
            if schema.is_file():
                return Path(os.path.relpath(schema, folder)).as_posix()
        if parent == root:
            break
    return None

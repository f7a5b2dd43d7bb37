"""Read the input files of `tfgen import`, and write the imported job files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tfgen.commands.authoring.new_files import NewFile, add_files
from tfgen.commands.importing import kustomize_folder
from tfgen.commands.importing.import_jobs import ImportedJob, Source
from tfgen.errors import UsageError
from tfgen.places import JOB_FILE
from tfgen.text.parse import MAX_BYTES

STDIN: Final = Path("-")


def read_manifests(
    files: Iterable[Path],
    commands: Iterable[str],
    environments: Iterable[tuple[str, Path]],
    live: Iterable[Source] = (),
) -> tuple[list[Source], dict[str, list[Source]]]:
    """Read the files of an import.

    The first element of the result contains the files of the jobs without an environment. The second element contains
    the files of each environment.

    Args:
        files: manifests, scripts, kustomize overlays, or folders that contain an overlay for each environment; `STDIN`
            is standard input.
        commands: commands that submit a job.
        environments: the name and the file or overlay of each environment.
        live: the manifests from a cluster.

    Raises:
        UsageError: the arguments name no input, or a file cannot be read.
        TfgenError: kustomize fails.
    """
    sources: list[Source] = []
    by_environment: dict[str, list[Source]] = {}
    for file in files:
        if file.is_dir() and not kustomize_folder.is_overlay(file):
            for name, overlay in kustomize_folder.overlays(file).items():
                by_environment.setdefault(name, []).append(_source(overlay))
        else:
            sources.append(_source(file))
    sources += [Source("--command", os.fsencode(command)) for command in commands]
    sources += live
    for name, file in environments:
        by_environment.setdefault(name, []).append(_source(file))
    if not sources and not by_environment:
        raise UsageError("nothing to import; add a file, - for standard input, --command, --cluster or --env NAME=FILE")
    return sources, by_environment


def write_job(file: Path, text: str) -> None:
    """Write all imported jobs to a new file.

    Raises:
        UsageError: the file already exists.
        TfgenError: the disk fails.
    """
    add_files(file.parent, [NewFile(file.name, text)])


def write_jobs(folder: Path, jobs: Sequence[ImportedJob]) -> None:
    """Write each imported job to a new file NAME/job.yaml in a folder. If one file cannot be written, write no file.

    Raises:
        UsageError: a file already exists.
        TfgenError: the disk fails.
    """
    add_files(folder, [NewFile(f"{job.data['metadata']['name']}/{JOB_FILE}", job.text) for job in jobs])


def _source(file: Path) -> Source:
    if file.is_dir():
        return Source(f"kustomize build {file}", kustomize_folder.build(file))
    return Source("<stdin>" if file == STDIN else str(file), _content(file))


def _content(file: Path) -> bytes:
    if file == STDIN:
        if sys.stdin is None:
            raise UsageError("-: the standard input is closed")
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error

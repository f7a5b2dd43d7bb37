"""The files that `tfgen import` reads, and the one that it writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tfgen.commands.authoring.new_files import NewFile, add_files
from tfgen.commands.authoring.new_job_place import JOB_FILE
from tfgen.commands.importing import kustomize_folder
from tfgen.commands.importing.import_jobs import ImportedJob, Source
from tfgen.errors import UsageError
from tfgen.text.parse import MAX_BYTES

STDIN: Final = Path("-")


def read_manifests(
    files: Iterable[Path],
    commands: Iterable[str],
    environments: Iterable[tuple[str, Path]],
    live: Iterable[Source] = (),
) -> tuple[list[Source], dict[str, list[Source]]]:
    """The files of the jobs themselves, and those of each environment.

    Args:
        files: manifests, scripts, overlays of kustomize, or folders of overlays, where each overlay is an environment;
            `STDIN` is standard input.
        commands: commands that submit a job.
        environments: files or overlays, by the name of an environment.
        live: what a cluster has.

    Raises:
        UsageError: there are none, or one of them cannot be read.
        TfgenError: kustomize fails.
    """
    own: list[Source] = []
    by_environment: dict[str, list[Source]] = {}
    for file in files:
        if file.is_dir() and not kustomize_folder.is_overlay(file):
            for name, overlay in kustomize_folder.overlays(file).items():
                by_environment.setdefault(name, []).append(_source(overlay))
        else:
            own.append(_source(file))
    own += [Source("--command", os.fsencode(command)) for command in commands]
    own += live
    for name, file in environments:
        by_environment.setdefault(name, []).append(_source(file))
    if not own and not by_environment:
        raise UsageError(
            "nothing to import: name a file, - for standard input, --command, --cluster, or --env NAME=FILE"
        )
    return own, by_environment


def write_job(file: Path, text: str) -> None:
    """Write the file of imported jobs, which must not be there yet: whole or not at all.

    Raises:
        UsageError: it is there.
        TfgenError: the disk fails.
    """
    add_files(file.parent, [NewFile(file.name, text)])


def write_jobs(folder: Path, jobs: Sequence[ImportedJob]) -> None:
    """Write NAME/job.yaml below a folder for each imported job: all files or none.

    Raises:
        UsageError: a file is there already.
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
            raise UsageError("-: standard input is closed")
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error

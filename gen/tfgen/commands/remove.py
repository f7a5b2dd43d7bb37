"""``tfgen rm``: a job taken out of git with all that was rendered of it, or retired in one environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tfgen.change.job_diff import JobDiff
from tfgen.commands.job_files import files_of, names_in
from tfgen.commands.removed_jobs import removal
from tfgen.commands.run_ends import removal_ends
from tfgen.errors import UsageError
from tfgen.git import read as git
from tfgen.job.facts import check_environment, environments_of
from tfgen.job.output_root import output_root, root_above
from tfgen.places import JOB_SCHEMA
from tfgen.real_path import real_path
from tfgen.record import Record
from tfgen.schema.editor_schema import editor_schema
from tfgen.text.document import Document
from tfgen.text.edit import with_values
from tfgen.tree.write import apply, plan_write, read_ledgers


class Removed(Record):
    """The files that are gone, and those among them that were edited by hand.

    Attributes:
        ends: the run that ends, and the claims that stay.
    """

    files: tuple[str, ...]
    lost: tuple[str, ...]
    ends: tuple[JobDiff, ...]


def remove_job(job: Path, out: Path | None, *, force: bool) -> Removed:
    """Remove a job's file, and all that was rendered of it.

    Args:
        job: its file, or its name where the file is gone.
        out: the output folder; None for that of the job.
        force: whether what git does not have as it is goes too, and what was rendered of a job whose file stays.

    Raises:
        UsageError: there is no such job, its file has others too, or git could not give it back.
        ConflictsError: a rendered file was edited by hand, and it is not `force`.
        TfgenError: the disk fails.
    """
    is_file = job.is_file()
    out = out or output_root(job.parent if is_file else Path())
    name = _job_in(job, force=force) if is_file else str(job)
    ledgers = read_ledgers(out)
    if name not in ledgers and not is_file:
        known = ", ".join(sorted(ledgers)) or "none"
        what = "a folder, not a job's file" if job.is_dir() else "no such file"
        raise UsageError(f"{job}: {what}, and no job of that name was rendered; there are: {known}")
    if not (is_file or force) and (files := files_of(name, out)):
        raise UsageError(
            f"{name}: {', '.join(files)} still has it, and would be rendered anew; remove both by "
            f"tfgen rm {files[0]}, or only what was rendered by --force"
        )
    source = job if is_file else Path(os.path.relpath(out / ledgers.sources[name]))
    ends = removal_ends(name, source)
    plan = apply(plan_write(out, [removal(name)] if name in ledgers else [], force=force))
    own = _remove_file(job) if is_file else []
    return Removed((*plan.removed, *map(str, own)), tuple(conflict.describe_past() for conflict in plan.lost), ends)


def retire(text: str, document: Document, environment: str) -> str:
    """The file of a job with one of its environments switched off; the same where that is so already.

    Args:
        text: the file's text, as `disk_file.read_text` gives it.
        document: the job in it, which has no errors.
        environment: the environment's name.

    Raises:
        UsageError: the job has no such environment.
        TfgenError: the job is so written that something else would change too.
    """
    check_environment(document, environment)
    if not environments_of(document)[environment].get("enabled", True):
        return text
    return with_values(text, document, {("spec", "environments", environment): {"enabled": False}})


def check_is_file(job: Path, out: Path | None) -> None:
    """See that a job that is to be retired is named by its file.

    Raises:
        UsageError: there is no such file; the message has those that have a job of that name.
    """
    if job.exists():
        return
    files = files_of(str(job), out or output_root(Path()))
    there = f"; {job} is in {', '.join(files)}" if files else ""
    raise UsageError(f"{job}: no such file, and --env is written into a job's file{there}")


def _job_in(path: Path, *, force: bool) -> str:
    """The name of the one job in a file that may be removed.

    Raises:
        UsageError: the file holds another number of jobs, or git could not give it back and it is not `force`.
    """
    content = path.read_bytes()
    names = names_in(content, str(path))
    if len(names) != 1 or not names[0]:
        raise UsageError(f"{path}: holds {len(names)} documents, not one job; take the job out, then tfgen rm NAME")
    if not force and not _is_same_text(git.committed(path), content):
        raise UsageError(f"{path}: git does not have it as it is; commit it first, or lose it by --force")
    return names[0]


def _remove_file(path: Path) -> list[Path]:
    """Remove a job's file, the schema that `tfgen init` put beside it, and the folders that are then empty.

    The schema stays where there is anything else beside it, or where it is not as tfgen or git has it.
    """
    path.unlink()
    removed, folder = [path], path.parent
    schema = folder / JOB_SCHEMA
    if [*folder.iterdir()] == [schema] and schema.is_file():
        content = schema.read_bytes()
        if content in (editor_schema().encode(), git.committed(schema)):
            schema.unlink()
            removed.append(schema)
    for empty in _up_to_root(real_path(folder)):
        if any(empty.iterdir()):
            break
        empty.rmdir()
    return removed


def _up_to_root(folder: Path) -> Iterator[Path]:
    """A folder and those above it, below the root and the working directory."""
    root, here = root_above(folder), Path.cwd()
    for candidate in (folder, *folder.parents):
        if candidate == root or here.is_relative_to(candidate):
            return
        yield candidate


def _is_same_text(committed: bytes | None, content: bytes) -> bool:
    """Whether git has a file, be it with other line ends, which git converts where it is told to."""
    return committed is not None and committed.replace(b"\r\n", b"\n") == content.replace(b"\r\n", b"\n")

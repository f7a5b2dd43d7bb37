"""``tfgen rm``: remove a job from git, or retire the job in an environment."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.change.comparison import Pair
from tfgen.change.job_diff import JobDiff
from tfgen.cli.arguments import job_name_argument, out_argument, path
from tfgen.cli.output import (
    OK,
    check_jobs,
    ended_runs_data,
    print_ended_runs,
    print_json,
    print_message,
    print_remaining,
    print_result,
    read_job,
)
from tfgen.disk_file import read_text, real_path, replace_text
from tfgen.errors import Problem, ProblemsError, UsageError, stop_at_errors
from tfgen.fix import Assignment
from tfgen.git.tree import CommitTree
from tfgen.job.facts import check_environment, choose_job, command_for, environments_of, name_of
from tfgen.job.sources import output_root, root_above
from tfgen.pipeline.check import removal_ends, run_ends
from tfgen.pipeline.read import find_job_files, remaining_files, removal
from tfgen.places import JOB_SCHEMA
from tfgen.record import Record
from tfgen.schema.editor_schema import editor_schema
from tfgen.text.document import Document
from tfgen.text.edit import assign, split_off
from tfgen.text.parse import decode, parse
from tfgen.tree.plan import WriteRequest
from tfgen.tree.write import apply, plan_write, read_ledgers
from tfgen.words import command_line

EXAMPLE: Final = "tfgen rm job.yaml --env prod"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "job", type=path, metavar="JOB|NAME", help="a job.yaml, or the name of a job whose file was deleted"
    )
    job_name_argument(parser)
    parser.add_argument("--env", metavar="ENV", help="only retire the job in this environment; its claims remain")
    out_argument(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="also remove a job with uncommitted changes; with a NAME, remove the rendered files even if the job "
        "file exists",
    )


def run(args: Namespace) -> int:
    return _remove(args) if args.env is None else _retire(args)


def _retire(args: Namespace) -> int:
    check_is_file(args.job, args.out)
    document = read_job(args)
    file = Path(document.file)
    before = read_text(file)
    after = retire(before, document, args.env)
    if after != before:
        replace_text(file, before, after)
    retired = next((job for job in check_jobs([file]).documents if name_of(job) == name_of(document)), None)
    ends = [end] if retired and (end := run_ends(Pair(document, retired))) else []
    if args.format == "json":
        print_json({"retired": args.env, "changed": after != before, "ends": ended_runs_data(ends)})
    elif after != before:
        print_result(
            f"{file}: retired in {args.env}; to enable the job again, run "
            f"{command_for(document, 'rerun', '--env', args.env, '--enable')}"
        )
        print_ended_runs(ends)
        _print_deletion(ends, document)
        print_result(f"\nNext:\n\n  {command_line('render', file)}")
    else:
        print_result(f"{file}: already retired in {args.env}")
    return OK


def _remove(args: Namespace) -> int:
    removed = remove_job(args.job, args.out, force=args.force, name=args.job_name)
    for conflict in removed.lost:
        print_message(f"lost: {conflict}")
    if args.format == "json":
        print_json(
            {
                "removed": removed.files,
                "changed": removed.has_file,
                "remaining": removed.remaining,
                "ends": ended_runs_data(removed.ends),
            }
        )
    else:
        if removed.has_file:
            print_result(f"changed  {args.job}")
        print_result("".join(f"removed  {file}\n" for file in removed.files), end="")
        print_remaining(removed.remaining)
        print_ended_runs(removed.ends)
        _print_deletion(removed.ends, None)
    return OK


def _print_deletion(ends: Sequence[JobDiff], document: Document | None) -> None:
    """Print how to end the runs that `tfgen apply` started. A change in git does not end these runs.

    Args:
        ends: the runs that the change ends.
        document: the job; None for a removed job.
    """
    for job in ends:
        delete = partial(command_for, document, "delete") if document else partial(command_line, "delete", job.name)
        names = [environment.environment for environment in job.environments if environment.ends_run]
        commands = [delete(*(("--env", name) if name else ())) for name in names]
        if commands:
            print_result(
                "a run that tfgen apply started continues; to end the run:\n"
                + "\n".join(f"  {command}" for command in commands)
            )


class Removed(Record):
    """The result of `tfgen rm`.

    Attributes:
        files: the removed files.
        lost: messages about removed files that somebody edited by hand.
        remaining: the files that tfgen did not write and that remain in the folders of the job.
        ends: a tuple with one `JobDiff`, which lists the runs that the removal ends, and the claims that remain in the
            cluster. Without such a run or claim, the tuple is empty.
        has_file: whether the job file remains, because the file contains other jobs.
    """

    files: tuple[str, ...]
    lost: tuple[str, ...]
    remaining: tuple[str, ...]
    ends: tuple[JobDiff, ...]
    has_file: bool = False


def remove_job(job: Path, out: Path | None, *, force: bool, name: str | None = None) -> Removed:
    """Remove a job from its file, and remove the rendered files. A job file without other jobs is deleted.

    Args:
        job: the job file, or the name of a job whose file was deleted.
        out: the output folder; None for the output folder of the job.
        force: True removes the job even if its text is not committed or a rendered file was edited by hand. If `job` is
            a name, True also removes the rendered files of a job whose job file exists.
        name: the name of the job in a file with several jobs.

    Raises:
        UsageError: the job does not exist, or the file has several jobs and `name` is None. If `force` is false: the
            text of the job is not committed, or `job` is a name and a job file contains the job.
        ProblemsError: the text of the job file is not valid YAML.
        ConflictsError: somebody edited a rendered file, and `force` is false.
        TfgenError: the disk fails, or the text of the job cannot be removed without a change of other jobs.
    """
    is_file = job.is_file()
    if name is not None and not is_file:
        raise UsageError(f"{job}: the file does not exist, and --job needs a job file")
    out = out or output_root(job.parent if is_file else Path())
    text = _text_of_job(job, name, force=force) if is_file else None
    name = text.name if text else str(job)
    ledgers = read_ledgers(out)
    if name not in ledgers and not is_file:
        rendered = f"the rendered jobs are {', '.join(sorted(ledgers))}" if ledgers else "no job is rendered"
        reason = "this is a folder, not a job file" if job.is_dir() else "the file does not exist"
        raise UsageError(f"{job}: {reason}, and no rendered job has this name; {rendered}")
    if not (is_file or force) and (files := find_job_files(name, out)):
        raise UsageError(
            f"{name}: {', '.join(files)} has the job, so the next render would write the files again; to remove the "
            f"job: {command_line('rm', files[0], '--job', name)}; to remove only the rendered files, add --force"
        )
    source = job if is_file else Path(os.path.relpath(out / ledgers.sources[name]))
    ends = removal_ends(name, source)
    plan = apply(plan_write(WriteRequest(out, [removal(name)] if name in ledgers else [], force=force)))
    removed = _remove_text(job, text) if text else []
    return Removed(
        (*plan.removed, *map(str, removed)),
        tuple(conflict.describe_past() for conflict in plan.lost),
        remaining_files(out, name),
        ends,
        has_file=text is not None and text.is_shared,
    )


def retire(text: str, document: Document, environment: str) -> str:
    """Return the text of a job file with `enabled: false` for an environment.

    If the job is already retired in the environment, the text is unchanged.

    Args:
        text: the text of the file from `disk_file.read_text`.
        document: the valid job in the file.
        environment: the name of the environment.

    Raises:
        UsageError: the job does not have the environment.
        TfgenError: the edit would change another value as well.
    """
    check_environment(document, environment)
    if not environments_of(document)[environment].get("enabled", True):
        return text
    return assign(text, document, [Assignment(("spec", "environments", environment, "enabled"), False)])


def check_is_file(job: Path, out: Path | None) -> None:
    """Check that the argument of `tfgen rm --env` is a job file, because the command edits this file.

    Raises:
        UsageError: the file does not exist. If the argument is the name of a job, the message lists the job's files.
    """
    if job.exists():
        return
    files = find_job_files(str(job), out or output_root(Path()))
    hint = f"; the job {job} is in {', '.join(files)}" if files else ""
    raise UsageError(f"{job}: the file does not exist, and --env needs a job file{hint}")


class _JobText(Record):
    """The text of a job in its file.

    Attributes:
        name: the name of the job.
        before: the text of the file.
        after: the text of the file without the job.
        is_shared: whether the file contains other jobs.
    """

    name: str
    before: str
    after: str
    is_shared: bool


def _text_of_job(path: Path, name: str | None, *, force: bool) -> _JobText:
    """Return the text of the job file `path` with and without the job. Check that the text of the job is committed.

    Raises:
        UsageError: the file does not have the job, the file has several jobs and `name` is None, or the text of the job
            is not committed and `force` is false.
        ProblemsError: the text is not valid YAML, for example because of a merge conflict.
        TfgenError: the text of the job cannot be removed without a change of other jobs.
    """
    text = decode(path.read_bytes(), str(path))
    if isinstance(text, Problem):
        raise ProblemsError([text])
    before = read_text(path)
    parsed = parse(text, str(path))
    stop_at_errors(parsed.problems)
    document = choose_job(parsed.documents, str(path), name)
    job = data_path.at(document.data, ("metadata", "name"))
    if not isinstance(job, str):
        raise UsageError(f"{path}: the job has no name; set metadata.name")
    is_shared = len(parsed.documents) > 1
    content, after = split_off(before, document) if is_shared else (text, "")
    if not force and not _has_committed(path, content, document):
        raise UsageError(
            f"{path}: the text of {job} is not committed to git; commit the file, or add --force to delete the text"
        )
    return _JobText(job, before, after, is_shared)


def _remove_text(path: Path, text: _JobText) -> list[Path]:
    """Remove the text of a job from the job file `path`, and return the deleted files.

    If the file contains other jobs, the file remains, and the result is empty.
    """
    if not text.is_shared:
        return _remove_file(path)
    replace_text(path, text.before, text.after)
    return []


def _remove_file(path: Path) -> list[Path]:
    """Delete a job file, the schema for editors that `tfgen init` wrote to its folder, and folders that are then empty.

    The schema remains if the folder has other files, or if the schema has uncommitted edits.
    """
    path.unlink()
    removed, folder = [path], path.parent
    schema = folder / JOB_SCHEMA
    if [*folder.iterdir()] == [schema] and schema.is_file():
        content = schema.read_bytes()
        if content in (editor_schema().encode(), CommitTree().read(schema)):
            schema.unlink()
            removed.append(schema)
    for empty in _up_to_root(real_path(folder)):
        if any(empty.iterdir()):
            break
        empty.rmdir()
    return removed


def _up_to_root(folder: Path) -> Iterator[Path]:
    """Yield a folder and its parent folders, the nearest first, without the root of the repository.

    Stop before a folder that is, or contains, the working directory.
    """
    root, working_directory = root_above(folder), Path.cwd()
    for candidate in (folder, *folder.parents):
        if candidate == root or working_directory.is_relative_to(candidate):
            return
        yield candidate


def _has_committed(path: Path, text: str, document: Document) -> bool:
    """Test whether the last commit contains the text of a job.

    The file `path` in HEAD must contain `text`, and a document that equals `document`. Line endings may differ, because
    git may convert line endings.
    """
    content = CommitTree().read(path)
    committed = decode(content, str(path)) if content is not None else ""
    if isinstance(committed, Problem):
        return False
    documents = parse(committed, str(path)).documents
    return _unix(text) in _unix(committed) and document.data in [parsed.data for parsed in documents]


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip("\n") + "\n"

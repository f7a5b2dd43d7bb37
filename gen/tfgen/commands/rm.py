"""``tfgen rm``: remove a job from git, or retire the job in an environment."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.change.comparison import Pair
from tfgen.change.job_diff import JobDiff
from tfgen.cli.arguments import flag, job_name_argument, option, out_argument, path
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
    option(parser, "--env", "ENV", "only retire the job in this environment; its claims remain")
    out_argument(parser)
    flag(
        parser,
        "--force",
        "also remove a job with uncommitted changes; with a NAME, remove the rendered files even if the job "
        "file exists",
    )


def run(args: Namespace) -> int:
    return _remove(args) if args.env is None else _retire(args)


def _retire(args: Namespace) -> int:
    if not args.job.exists():
        files = find_job_files(str(args.job), args.out or output_root(Path()))
        hint = f"; the job {args.job} is in {', '.join(files)}" if files else ""
        raise UsageError(f"{args.job}: the file does not exist, and --env needs a job file{hint}")
    document = read_job(args)
    file = Path(document.file)
    before = after = read_text(file)
    check_environment(document, args.env)
    if environments_of(document)[args.env].get("enabled", True):
        after = assign(before, document, [Assignment(("spec", "environments", args.env, "enabled"), False)])
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
    """Remove a job from its file, and remove the rendered files. A job file without other jobs is deleted.

    Raises:
        UsageError: the job does not exist, or the file has several jobs and --job is missing. Without --force: the text
            of the job is not committed, or JOB is a name and a job file contains the job.
        ProblemsError: the text of the job file is not valid YAML.
        ConflictsError: somebody edited a rendered file, and --force is missing.
        TfgenError: the disk fails, or the text of the job cannot be removed without a change of other jobs.
    """
    job, is_file = args.job, args.job.is_file()
    if args.job_name is not None and not is_file:
        raise UsageError(f"{job}: the file does not exist, and --job needs a job file")
    out = args.out or output_root(job.parent if is_file else Path())
    name, before, after = str(job), "", None
    if is_file:
        name, before, after = _text_of_job(job, args.job_name, force=args.force)
    ledgers = read_ledgers(out)
    if name not in ledgers and not is_file:
        rendered = f"the rendered jobs are {', '.join(sorted(ledgers))}" if ledgers else "no job is rendered"
        reason = "this is a folder, not a job file" if job.is_dir() else "the file does not exist"
        raise UsageError(f"{job}: {reason}, and no rendered job has this name; {rendered}")
    if not (is_file or args.force) and (files := find_job_files(name, out)):
        raise UsageError(
            f"{name}: {', '.join(files)} has the job, so the next render would write the files again; to remove the "
            f"job: {command_line('rm', files[0], '--job', name)}; to remove only the rendered files, add --force"
        )
    ends = removal_ends(name, job if is_file else Path(os.path.relpath(out / ledgers.sources[name])))
    plan = apply(plan_write(WriteRequest(out, [removal(name)] if name in ledgers else [], force=args.force)))
    removed = [*plan.removed]
    if after is not None:
        replace_text(job, before, after)
    elif is_file:
        removed += map(str, _delete_file(job))
    remaining = remaining_files(out, name)
    for conflict in plan.lost:
        print_message(f"lost: {conflict.describe_past()}")
    if args.format == "json":
        data = {"removed": removed, "changed": after is not None, "remaining": remaining}
        print_json({**data, "ends": ended_runs_data(ends)})
        return OK
    if after is not None:
        print_result(f"changed  {job}")
    print_result("".join(f"removed  {file}\n" for file in removed), end="")
    print_remaining(remaining)
    print_ended_runs(ends)
    _print_deletion(ends, None)
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


def _text_of_job(path: Path, name: str | None, *, force: bool) -> tuple[str, str, str | None]:
    """Return the name of a job, and the text of its file `path` with and without the job.

    The text without the job is None if the file contains no other job. Check that the text of the job is committed.

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
    content, after = split_off(before, document) if len(parsed.documents) > 1 else (text, None)
    if not force and not _has_committed(path, content, document):
        raise UsageError(
            f"{path}: the text of {job} is not committed to git; commit the file, or add --force to delete the text"
        )
    return job, before, after


def _delete_file(path: Path) -> list[Path]:
    """Delete a job file, the schema for editors that `tfgen init` wrote to its folder, and folders that are then empty.

    The schema remains if the folder has other files, or if the schema has uncommitted edits. Return the deleted files.
    """
    path.unlink()
    removed, folder = [path], path.parent
    schema = folder / JOB_SCHEMA
    if [*folder.iterdir()] == [schema] and schema.is_file():
        content = schema.read_bytes()
        if content in (editor_schema().encode(), CommitTree().read(schema)):
            schema.unlink()
            removed.append(schema)
    # The root of the repository, and a folder that contains the working directory, remain.
    whole, working_directory = real_path(folder), Path.cwd()
    root = root_above(whole)
    for empty in (whole, *whole.parents):
        if empty == root or working_directory.is_relative_to(empty) or any(empty.iterdir()):
            break
        empty.rmdir()
    return removed


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
    text, committed = (part.replace("\r\n", "\n").rstrip("\n") + "\n" for part in (text, committed))
    return text in committed and document.data in [parsed.data for parsed in documents]

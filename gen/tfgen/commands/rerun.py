"""``tfgen rerun``: write the name of the next run into job.yaml."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tfgen.change.new_run import NOT_FRESH, Runs, all_runs
from tfgen.cli.arguments import flag, job_argument, option, out_argument
from tfgen.cli.output import OK, print_json, print_result, read_job, report
from tfgen.commands.commit import commit_data, commit_paths, print_commit
from tfgen.commands.git.rendered import Outcome
from tfgen.data_path import Path as DataPath
from tfgen.disk_file import read_text, replace_text
from tfgen.errors import Problem, UsageError
from tfgen.fix import Assignment
from tfgen.git.commit import GitRefusedError
from tfgen.git.tree import CommitTree, is_shallow
from tfgen.graph.storage import WRITABLE
from tfgen.job.facts import UNNAMED, check_environment, command_for, environments_of, next_run, rendered_branch
from tfgen.job.sources import output_root_of, read_sources
from tfgen.record import Record
from tfgen.report.problems import rows
from tfgen.schema import tunables
from tfgen.text.document import Document
from tfgen.text.edit import assign
from tfgen.tree.write import read_ledgers
from tfgen.words import command_line

EXAMPLE: Final = "tfgen rerun job.yaml --env prod --resume"


def arguments(parser: ArgumentParser) -> None:
    job_argument(parser)
    option(parser, "--env", "ENV", "the environment of the new run (default: all environments)")
    folder = parser.add_mutually_exclusive_group()
    folder.add_argument("--resume", action="store_true", help="continue from the files of the last run")
    folder.add_argument("--fresh", action="store_true", help="begin without the files of earlier runs (the default)")
    flag(parser, "--enable", "with --env: enable the job again in this environment")
    flag(parser, "--commit", "check and render the job, and commit the result")
    flag(parser, "--push", "push the commit; if the remote branch has new commits, rebase first")
    out_argument(parser)


def run(args: Namespace) -> int:
    if args.push and not args.commit:
        raise UsageError("--push needs --commit")
    if args.enable and args.env is None:
        raise UsageError("--enable needs --env")
    document = read_job(args)
    file = Path(document.file)
    text = read_text(file)
    if is_shallow(file.parent):
        raise UsageError(
            f"{file}: the clone is shallow, so tfgen cannot read the names of earlier runs; fetch the history with git "
            "fetch --unshallow, or in CI set fetch-depth: 0 (GitHub Actions) or GIT_DEPTH: 0 (GitLab CI)"
        )
    earlier = all_runs(document)
    result = rerun(text, document, args.env, resume=args.resume, enables=args.enable, earlier=earlier)
    warnings = [*not_fresh(document, args.env)] if args.fresh else []
    commit = _commit(args, file, text, result.text) if args.commit else None
    if not args.commit:
        replace_text(file, text, result.text)
    if args.format == "json":
        runs = [{"environment": run.environment, "before": run.before, "after": run.after} for run in result.runs]
        print_json({"problems": rows(warnings), "runs": runs} | ({"commit": commit_data(commit)} if commit else {}))
        return OK
    report(args, warnings)
    for run in result.runs:
        environment = f" in {run.environment}" if run.environment else ""
        print_result(f"{file}: run {run.before or '(none)'} -> {run.after}{environment}")
    if commit:
        print_commit(commit)
    else:
        print_result(f"\nNext:\n\n  {command_line('commit' if rendered_branch(document) else 'render', file)}")
    return OK


_JOB: Final[DataPath] = ("spec",)


class NextRun(Record):
    """The names of the last run and of the next run of a job.

    Attributes:
        environment: the environment of the run; None for the job without an environment.
        before: the name of the last run.
        after: the name of the next run.
    """

    environment: str | None
    before: str
    after: str


class Rerun(Record):
    """The new text of a job file, and the runs that get a new name in the text."""

    text: str
    runs: tuple[NextRun, ...]


def rerun(
    text: str,
    document: Document,
    environment: str | None,
    *,
    resume: bool,
    enables: bool = False,
    earlier: Runs = (),
) -> Rerun:
    """Return the text of a job file with the name of the next run.

    Args:
        text: the text of the file from `disk_file.read_text`.
        document: the valid job in the file.
        environment: the environment of the new run; None for the job and all environments that set their own run name.
        resume: whether the new run continues from the files of the last run.
        enables: whether to enable the job again in an environment where the job is retired.
        earlier: earlier runs of the job, whose names the new run must not have.

    Raises:
        UsageError: the job does not have the environment, the job is retired there or in all environments and `enables`
            is false, or the job is not retired and `enables` is true.
        TfgenError: the name of the next run is too long, or the edit would change another value as well.
    """
    spec, environments = document.data["spec"], environments_of(document)
    if environment is not None:
        check_environment(document, environment)
        _check_enabled(document, environment, enables=enables)
    elif environments and not any(values.get("enabled", True) for values in environments.values()):
        _check_enabled(document, next(iter(environments)), enables=enables)
    changes: dict[DataPath, dict[str, str | bool]] = {}
    runs = []
    for name in (None, *environments) if environment is None else (environment,):
        node, merged = spec if name is None else environments[name], _merged_spec(spec, name)
        values: dict[str, str | bool] = {"enabled": True} if enables else {}
        before = merged.get("run", "")
        if name == environment or "run" in node:
            used = {run for other, run in earlier if name is None or other in (None, name)}
            runs.append(NextRun(name, before, next_run(before, used)))
            values["run"] = runs[-1].after
        edited_spec = {**spec, **changes.get(_JOB, {})}
        folder = (merged.get("resumeFrom") or before or UNNAMED) if resume and _has_folders(merged) else ""
        if folder != node.get("resumeFrom", edited_spec.get("resumeFrom", "")):
            values["resumeFrom"] = folder
        if values:
            changes[_JOB if name is None else (*_JOB, "environments", name)] = values
    # A new key becomes the first key of its mapping, so the last key is first here.
    edits = [
        Assignment((*path, key), value) for path, values in changes.items() for key, value in reversed(values.items())
    ]
    return Rerun(assign(text, document, edits), tuple(runs))


def _commit(args: Namespace, file: Path, before: str, after: str) -> Outcome:
    """Write a job file with its new run name, and commit the job with its rendered files.

    If the commit fails before a file is rendered, the job file gets its old text `before` again.

    Raises:
        GitRefusedError: another commit, such as a commit of a second clone, has started the new run already.
        TfgenError: `commit_paths` fails.
    """
    out = args.out or output_root_of([file], [str(file)])
    ledgers = read_ledgers(out)
    replace_text(file, before, after)
    try:
        has_out_option = args.out is not None
        outcome = commit_paths([file], read_sources([file]), out, pushes=args.push, has_out_option=has_out_option)
    except BaseException:
        if read_ledgers(out) == ledgers and CommitTree().read(file) != after.encode():
            replace_text(file, after, before)
        raise
    if not (outcome.rendered or outcome).commit:
        raise GitRefusedError(
            f"{file}: no run starts, because another commit has already started a run with the new name; run the "
            "command again for the next name"
        )
    return outcome


def _check_enabled(document: Document, environment: str, *, enables: bool) -> None:
    """Check that the job is enabled in an environment, so that a new run would start.

    Raises:
        UsageError: the job is retired and `enables` is false, or the job is not retired and `enables` is true.
    """
    path: DataPath = (*_JOB, "environments", environment)
    is_retired = not environments_of(document)[environment].get("enabled", True)
    if is_retired and not enables:
        command = command_for(document, "rerun", "--env", environment, "--enable")
        raise UsageError(
            f"{document.place((*path, 'enabled'))}: the job is retired in {environment} (enabled: false), so "
            f"no run would start; to enable the job again, run {command}"
        )
    if enables and not is_retired:
        raise UsageError(
            f"{document.place(path)}: the job is not retired in {environment}; for a new run, remove --enable"
        )


def not_fresh(document: Document, environment: str | None) -> Iterator[Problem]:
    """Yield a warning for the job and for each environment where a new run would find the files of earlier runs.

    Args:
        document: the job.
        environment: the environment to check; None for the job and all its environments.
    """
    spec = document.data["spec"]
    for name in (environment,) if environment is not None else (None, *environments_of(document)):
        merged = _merged_spec(spec, name)
        if _has_folders(merged):
            continue
        path, message = (
            _JOB,
            "no volume stores the files of a run; a program that stores files in a different place must use a folder "
            "with the name of the run (the variable TFGEN_RUN), or a fresh run finds the files of earlier runs",
        )
        for volume, settings in merged.get("storage", {}).items():
            if not settings.get("readOnly") and any(source in settings for source in WRITABLE):
                path = (*_JOB, "storage", volume)
                message = (
                    f"all runs share storage.{volume}, so a fresh run finds the files of earlier runs; set "
                    f"storage.{volume}.runs: Separate"
                )
                break
        yield Problem(*document.place(path), message, NOT_FRESH, "warning")


def _merged_spec(spec: Mapping[str, Any], environment: str | None) -> dict[str, Any]:
    """Return the job spec `spec` without `environments`, merged with the settings of the environment `environment`.

    For the environment None, return the spec without `environments`.
    """
    job = tunables.without_environments(spec)
    return job if environment is None else tunables.merge(job, spec["environments"][environment])


def _has_folders(merged: Mapping[str, Any]) -> bool:
    """Return whether a volume of the merged job spec has a separate folder for each run.

    In such a folder, a new run does not find earlier files.
    """
    return any(volume.get("runs") == "Separate" for volume in merged.get("storage", {}).values())

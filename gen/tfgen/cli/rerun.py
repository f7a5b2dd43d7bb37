"""``tfgen rerun``: the name of a job's next run, put into job.yaml."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import (
    commit_data,
    job_name_argument,
    one_job,
    path,
    print_commit,
    print_json,
    print_message,
    print_result,
    report,
)
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from tfgen.commands.git.commit_steps import Outcome


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", type=path, metavar="JOB", help="a job.yaml")
    job_name_argument(parser)
    parser.add_argument(
        "--env", metavar="ENV", help="the environment that is to run again (without it, the job in all of them)"
    )
    folder = parser.add_mutually_exclusive_group()
    folder.add_argument("--resume", action="store_true", help="go on in the folder of the last run")
    folder.add_argument(
        "--fresh", action="store_true", help="begin in a folder of the new run's own (the default; with runs: Separate)"
    )
    parser.add_argument("--enable", action="store_true", help="run again where the job is retired; with --env")
    parser.add_argument("--commit", action="store_true", help="check the job, render it, and commit what comes of it")
    parser.add_argument("--push", action="store_true", help="push the commit, over whatever has landed meanwhile")
    parser.add_argument("--out", type=path, metavar="DIR", help="where charts/ and overlays/ are (the repo's root)")


def _run(args: Namespace) -> int:
    from tfgen.commands.rerun import not_fresh, rerun
    from tfgen.report.problems import rows
    from tfgen.tree.disk_file import read_text, replace_text

    if args.push and not args.commit:
        raise UsageError("--push pushes the commit that --commit makes: give both")
    if args.enable and args.env is None:
        raise UsageError("--enable is for one environment: name it by --env")
    document = one_job(args)
    if document is None:
        return PROBLEMS
    file = Path(document.file)
    text = read_text(file)
    done = rerun(text, document, args.env, resume=args.resume, enables=args.enable)
    warnings = [*not_fresh(document, args.env)] if args.fresh else []
    runs = [{"environment": run.environment, "before": run.before, "after": run.after} for run in done.raised]
    if args.commit:
        commit = _commit(args, file, text, done.text)
        if commit is None:
            return PROBLEMS
    else:
        replace_text(file, text, done.text)
        commit = None
    if args.format == "json":
        print_json({"problems": rows(warnings), "runs": runs} | ({"commit": commit_data(commit)} if commit else {}))
        return OK
    report(args, warnings)
    for run in done.raised:
        where = f" in {run.environment}" if run.environment else ""
        print_result(f"{file}: run {run.before or '(none)'} -> {run.after}{where}")
    if commit:
        print_commit(commit)
    else:
        print_result(f"\nNext:\n\n  tfgen render {file}")
    return OK


def _commit(args: Namespace, file: Path, before: str, after: str) -> Outcome | None:
    """Commit the job with its new run; None where it has errors, which are reported."""
    from tfgen.commands.git.commit_check import ProblemsError
    from tfgen.commands.rerun import commit_run
    from tfgen.job.output_root import output_root_of

    try:
        out = args.out or output_root_of([file], [str(file)])
        return commit_run(file, before, after, out=out, is_beside=args.out is not None, pushes=args.push)
    except ProblemsError as error:
        report(args, error.problems)
        print_message(str(error))
        return None


COMMAND: Final = Command(
    "rerun",
    "give a job's next run its name, in job.yaml",
    _arguments,
    _run,
    example="tfgen rerun job.yaml --env prod --resume",
)

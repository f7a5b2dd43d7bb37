"""``tfgen rerun``: write the name of the next run into job.yaml."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, Command
from tfgen.cli.output import (
    commit_data,
    job_argument,
    out_argument,
    print_commit,
    print_json,
    print_result,
    read_job,
    report,
)
from tfgen.errors import UsageError

_SUMMARY: Final = "write the name of the next run into job.yaml"
_EXAMPLE: Final = "tfgen rerun job.yaml --env prod --resume"


def _arguments(parser: ArgumentParser) -> None:
    job_argument(parser)
    parser.add_argument("--env", metavar="ENV", help="the environment of the new run (default: all environments)")
    folder = parser.add_mutually_exclusive_group()
    folder.add_argument("--resume", action="store_true", help="continue from the files of the last run")
    folder.add_argument("--fresh", action="store_true", help="begin without the files of earlier runs (the default)")
    parser.add_argument("--enable", action="store_true", help="with --env: enable the job again in this environment")
    parser.add_argument("--commit", action="store_true", help="check and render the job, and commit the result")
    parser.add_argument(
        "--push", action="store_true", help="push the commit; if the remote branch has new commits, rebase first"
    )
    out_argument(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.rerun import commit_run, find_earlier_runs, not_fresh, rerun
    from tfgen.disk_file import read_text, replace_text
    from tfgen.job.facts import rendered_branch
    from tfgen.job.sources import output_root_of
    from tfgen.report.problems import rows

    if args.push and not args.commit:
        raise UsageError("--push needs --commit")
    if args.enable and args.env is None:
        raise UsageError("--enable needs --env")
    document = read_job(args)
    file = Path(document.file)
    text = read_text(file)
    earlier = find_earlier_runs(document)
    result = rerun(text, document, args.env, resume=args.resume, enables=args.enable, earlier=earlier)
    warnings = [*not_fresh(document, args.env)] if args.fresh else []
    runs = [{"environment": run.environment, "before": run.before, "after": run.after} for run in result.runs]
    if args.commit:
        out = args.out or output_root_of([file], [str(file)])
        commit = commit_run(file, text, result.text, out=out, has_out_option=args.out is not None, pushes=args.push)
    else:
        replace_text(file, text, result.text)
        commit = None
    if args.format == "json":
        print_json({"problems": rows(warnings), "runs": runs} | ({"commit": commit_data(commit)} if commit else {}))
        return OK
    report(args, warnings)
    for run in result.runs:
        environment = f" in {run.environment}" if run.environment else ""
        print_result(f"{file}: run {run.before or '(none)'} -> {run.after}{environment}")
    if commit:
        print_commit(commit)
    else:
        print_result(f"\nNext:\n\n  tfgen {'commit' if rendered_branch(document) else 'render'} {file}")
    return OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)

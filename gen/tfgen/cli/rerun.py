"""``tfgen rerun``: the name of a job's next run, put into job.yaml."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import one_job, path, report


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", type=path, metavar="JOB", help="a job.yaml")
    parser.add_argument(
        "--env", metavar="ENV", help="the environment that is to run again (without it, the job in all of them)"
    )
    folder = parser.add_mutually_exclusive_group()
    folder.add_argument("--resume", action="store_true", help="go on in the folder of the last run")
    folder.add_argument(
        "--fresh", action="store_true", help="begin in a folder of the new run's own (the default; with runs: Separate)"
    )


def _run(args: Namespace) -> int:
    from tfgen.commands.rerun import not_fresh, rerun
    from tfgen.tree.disk_file import read_text, replace_text

    document = one_job(args, "a run is raised one job at a time")
    if document is None:
        return PROBLEMS
    file = Path(document.file)
    text = read_text(file)
    done = rerun(text, document, args.env, resume=args.resume)
    replace_text(file, text, done.text)
    runs = [{"environment": run.environment, "before": run.before, "after": run.after} for run in done.raised]
    report(args, [*not_fresh(document, args.env)] if args.fresh else [], written={"runs": runs})
    if args.format == "text":
        for run in done.raised:
            where = f" in {run.environment}" if run.environment else ""
            print(f"{file}: run {run.before or '(none)'} -> {run.after}{where}")
        print(f"\nNext:\n\n  tfgen render {file}")
    return OK


COMMAND: Final = Command("rerun", "give a job's next run its name, in job.yaml", _arguments, _run)

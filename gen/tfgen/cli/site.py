"""``tfgen site``: write a static site about the jobs of a repository."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import check_jobs, path, print_json, print_message, report


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "jobs", nargs="*", type=path, metavar="JOB", help="a job.yaml, or a folder that contains jobs (the repository)"
    )
    parser.add_argument("-o", "--out", type=path, required=True, metavar="DIR", help="the folder of the site")
    parser.add_argument("--title", metavar="TEXT", help="the title of the site (the name of the repository folder)")


def _run(args: Namespace) -> int:
    from tfgen.job.output_root import output_root
    from tfgen.plural import count
    from tfgen.problems import has_errors
    from tfgen.site.pages import INDEX, MARK, pages
    from tfgen.site.read_jobs import read_jobs
    from tfgen.tree.replace_folder import replace_folder

    root = output_root(Path())
    jobs = check_jobs(args.jobs or [Path(os.path.relpath(root))])  # the pages show these paths
    if has_errors(jobs.problems):
        report(args, jobs.problems)
        return PROBLEMS
    facts = read_jobs(jobs, root)
    number = replace_folder(args.out, pages(facts, args.title or root.resolve().name), INDEX, MARK)
    if args.format == "json":
        print_json({"folder": str(args.out), "jobs": [job.name for job in facts], "files": number})
    else:
        print_message(f"{args.out / INDEX}: {count(len(facts), 'job')}, {count(number, 'file')}")
    return OK


COMMAND: Final = Command(
    "site",
    "write a static site of all jobs: requests, pictures, values and history",
    _arguments,
    _run,
    example="tfgen site --out public",
)

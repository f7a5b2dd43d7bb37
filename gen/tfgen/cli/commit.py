"""``tfgen commit``: jobs checked, rendered, and committed with what comes of them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import checked, jobs_argument, out_of, path, print_json, problem_text, report, say
from tfgen.plural import count


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    parser.add_argument("--message", default="", metavar="TEXT", help="the commit's (else one in words of the jobs)")
    parser.add_argument("--branch", default="", metavar="NAME", help="commit to a new branch of this name")
    parser.add_argument("--push", action="store_true", help="push it, over whatever has landed meanwhile")
    parser.add_argument("--out", type=path, metavar="DIR", help="where charts/ and overlays/ are (the repo's root)")


def _run(args: Namespace) -> int:
    from tfgen.commands.commit import ProblemsError, commit_jobs
    from tfgen.report.problems import rows

    jobs = checked(args.jobs, may_be_none=True)
    try:
        done = commit_jobs(
            args.jobs,
            jobs,
            out=out_of(args, jobs),
            message=args.message,
            branch=args.branch,
            pushes=args.push,
        )
    except ProblemsError as error:
        report(args, error.problems)
        say(str(error))
        return PROBLEMS
    if args.format == "json":
        print_json(
            {
                "commit": done.commit or None,
                "message": done.message,
                "files": done.files,
                "branch": done.branch,
                "pushedTo": done.pushed_to or None,
                "problems": rows(done.problems),
                "notes": done.notes,
            }
        )
        return OK
    say(problem_text(done.problems, sys.stderr), end="")
    for note in done.notes:
        say(f"note: {note}")
    if done.commit:
        subject = done.message.partition("\n")[0]
        print(f"{done.branch} {done.commit[:12]} {subject}\n{count(len(done.files), 'file')} committed")
    else:
        print("nothing to commit: what is committed is what the jobs render to")
    if done.pushed_to:
        print(f"pushed to {done.pushed_to}")
    return OK


COMMAND: Final = Command("commit", "check jobs, render them, and commit what comes of them", _arguments, _run)

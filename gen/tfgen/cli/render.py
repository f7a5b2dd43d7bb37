"""``tfgen render``: write the rendered files of jobs, or print the objects of jobs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import (
    jobs_argument,
    path,
    print_json,
    print_message,
    print_result,
    problem_text,
    report,
    with_progress,
)
from tfgen.errors import UsageError
from tfgen.words import count

if TYPE_CHECKING:
    from tfgen.commands.render import Written

_SUMMARY: Final = "write the charts and overlays of jobs"
_EXAMPLE: Final = "tfgen render jobs"


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    parser.add_argument(
        "--out", type=path, metavar="DIR", help="the folder for charts/ and overlays/ (default: the repository)"
    )
    parser.add_argument("--force", action="store_true", help="replace files that were edited by hand")
    parser.add_argument(
        "--upgrade",
        action="store_true",
        help="also render unchanged jobs again, if tfgen has a new version or a tfgen.yaml has changed",
    )
    parser.add_argument(
        "--stdout", action="store_true", help="print the objects and write no files; JOB may be - for standard input"
    )
    parser.add_argument("--env", metavar="ENV", help="with --stdout: the objects of this environment")


def _run(args: Namespace) -> int:
    if args.env is not None and not args.stdout:
        raise UsageError("--env needs --stdout; without --stdout, tfgen renders all environments")
    return _print_objects(args) if args.stdout else _write_files(args)


def _write_files(args: Namespace) -> int:
    from tfgen.commands.render import render_paths

    with render_paths(
        args.jobs, args.out, force=args.force, upgrade=args.upgrade, track=partial(with_progress, work="rendering")
    ) as written:
        _print_written(args, written)
    return OK


def _print_written(args: Namespace, written: Written) -> None:
    from tfgen.places import CHARTS
    from tfgen.tree.ledger import ledger_path
    from tfgen.tree.plan import FileAction

    plan = written.plan
    for conflict in plan.lost:
        print_message(f"lost: {conflict.describe_past()}")
    for name in plan.restarted_revisions:
        print_message(
            f"note: the number in the version of {CHARTS}/{name} starts again at 0, because the ledger "
            f"{ledger_path(name)} is missing"
        )
    for name, rendered in plan.kept_jobs.items():
        print_message(f"kept: the files of {name}, {rendered}; add --upgrade to render the job again")
    if written.resolved:
        print_message(f"note: resolved {count(written.resolved, 'merge conflict')} in rendered files")
    if args.format == "json":
        files = {
            "created": plan.created,
            "changed": plan.changed,
            "removed": plan.removed,
            "unchanged": sorted(plan.unchanged()),
        }
        report(args, written.problems, written={**files, "kept": [*plan.kept_jobs]})
        return
    report(args, written.problems)
    actions = {"created": FileAction.CREATE, "changed": FileAction.CHANGE, "removed": FileAction.REMOVE}
    numbers = dict.fromkeys(actions, 0)
    for word, action in actions.items():
        for changes in plan.jobs.changes(action):
            print_result("".join(f"{word:<8} {change.path}\n" for change in changes), end="")
            numbers[word] += len(changes)
    numbers["unchanged"] = sum(1 for _ in plan.unchanged())
    print_result(f"{count(written.jobs, 'job')}, ", end="")
    print_result(", ".join(f"{number} {word}" for word, number in numbers.items()), flush=True)
    if written.fields_reset_by_gitops:
        from tfgen.report.gitops_advice import gitops_advice

        print_message(f"\n{gitops_advice(written.fields_reset_by_gitops)}", end="")
    if sys.stdout.isatty() and any(numbers[word] for word in actions):
        print_message(_next_steps(args))


def _next_steps(args: Namespace) -> str:
    """Return the commands that a user at a terminal can run next, with a description of each command."""
    import shlex

    from tfgen.words import columns

    out = f" --out {shlex.quote(str(args.out))}" if args.out else ""
    jobs = shlex.join(map(str, args.jobs))
    steps = {
        f"tfgen diff {jobs}": "print the changes in each environment",
        f"tfgen check {jobs}{out}": "report problems, and changes that need a new run",
        f"tfgen commit {jobs}{out} --push": "commit to git; Argo CD or Flux then applies the files",
    }
    # The empty first column indents the table.
    return f"\nNext:\n\n{columns([('', *step) for step in steps.items()])}".rstrip("\n")


def _print_objects(args: Namespace) -> int:
    from tfgen.commands.pipeline.render_objects import render_sources
    from tfgen.errors import has_errors
    from tfgen.job.sources import read_sources
    from tfgen.text.yaml_text import documents

    sources = read_sources(args.jobs, may_be_none=True, takes_stdin=True)
    objects, problems = render_sources(sources, args.env)
    print_message(problem_text(problems, sys.stderr), end="")  # standard output has only the objects
    if has_errors(problems):
        return PROBLEMS
    if args.format == "json":
        print_json(objects)
    else:
        print(documents(objects), end="")
    return OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)

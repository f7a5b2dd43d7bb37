"""The command line: the only module that prints or exits.

    tfgen render job.yaml

Each command is a function from its arguments to an exit code. What a command needs is imported when it runs, so that
``tfgen --help`` starts as fast as Python does.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tfgen import __version__
from tfgen.errors import TfgenError, UsageError

OK: Final = 0
PROBLEMS: Final = 1  # the input has errors, or writing would lose something of the user's
USAGE: Final = 2  # the command line asks for what is not there
FAILED: Final = 3  # an error of tfgen's own, of the disk, or of a tool that it calls

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command line and exit with its code."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run a command line and give its exit code; never a traceback, but with ``--debug``."""
    args = _parser().parse_args(argv)
    command: Command = args.command
    try:
        code = command(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone (| head): there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return 130
    except TfgenError as error:
        if args.debug:
            raise
        _say(f"tfgen: error: {error}")
        return error.exit_code
    except Exception as error:
        if args.debug:
            raise
        _say(f"tfgen: internal error: {type(error).__name__}: {error}\nRun it again with --debug for where.")
        return FAILED
    return code


def _render(args: argparse.Namespace) -> int:
    from tfgen.output_root import output_root
    from tfgen.problems import has_errors
    from tfgen.render import render
    from tfgen.tree_writer import apply, plan_write

    checked = _checked(args.jobs)
    if args.stdout:
        return _print_objects(args, checked)
    if has_errors(checked.problems):
        _report(args, checked.problems)
        return PROBLEMS
    documents = _with_progress(checked.documents, "rendering")
    plan = apply(plan_write(args.out or output_root(Path()), [render(d.data) for d in documents], force=args.force))
    for conflict in plan.lost:
        _say(f"lost: {conflict}")
    written = {
        "created": plan.created,
        "changed": plan.changed,
        "removed": plan.removed,
        "unchanged": plan.unchanged,
    }
    _report(args, checked.problems, written={action: list(paths) for action, paths in written.items()})
    if args.format == "text":
        for action in ("created", "changed", "removed"):
            for path in written[action]:
                print(f"{action:<8} {path}")
        print(f"{_count(len(checked.documents), 'job')}, ", end="")
        print(", ".join(f"{len(paths)} {action}" for action, paths in written.items()))
    return OK


def _print_objects(args: argparse.Namespace, checked: Any) -> int:
    from tfgen.problems import has_errors
    from tfgen.render import plain_objects
    from tfgen.yaml_text import documents

    _report(args, checked.problems, to_stdout=False)
    if has_errors(checked.problems):
        return PROBLEMS
    for document in checked.documents:
        known = document.data["spec"].get("environments", {})
        if args.env is not None and args.env not in known:
            raise UsageError(f"{document.file}: no environment {args.env!r}; it has {', '.join(known) or 'none'}")
    objects = [item for d in checked.documents for item in plain_objects(d.data, args.env)]
    if args.format == "json":
        _print_json(objects)
    else:
        print(documents(objects), end="")
    return OK


def _check(args: argparse.Namespace) -> int:
    from tfgen.comparison import compare
    from tfgen.problems import as_github, as_text, has_errors, in_order, rows

    checked = _checked(args.jobs)
    compared = compare(checked, args.against)
    problems = in_order((*checked.problems, *compared.problems))
    for note in compared.notes:
        _say(f"note: {note}")
    if args.format == "json":
        _print_json({"problems": rows(problems)})
    else:
        print(as_github(problems) if args.format == "github" else as_text(problems), end="")
        errors = sum(problem.severity == "error" for problem in problems)
        _say(
            f"{_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}; "
            f"{_count(compared.jobs, 'job')} compared with {args.against}"
        )
    return PROBLEMS if has_errors(problems) else OK


def _init(args: argparse.Namespace) -> int:
    from tfgen.init import new_job, write_new

    paths = write_new(args.out / args.name, new_job(args.name))
    if args.format == "json":
        _print_json({"created": [str(path) for path in paths]})
    else:
        print("".join(f"created  {path}\n" for path in paths), end="")
        print(f"\nNext:\n\n  tfgen render {paths[0]}")
    return OK


def _rerun(args: argparse.Namespace) -> int:
    from tfgen.problems import has_errors
    from tfgen.rerun import replace_text, rerun

    checked = _checked([args.job])
    if has_errors(checked.problems):
        _report(args, checked.problems)
        return PROBLEMS
    if len(checked.documents) != 1:
        raise UsageError(f"{args.job}: holds {len(checked.documents)} jobs; a run is raised one job at a time")
    done = rerun(args.job.read_text(encoding="utf-8"), checked.documents[0], args.env, resume=args.resume)
    replace_text(args.job, done.text)
    if args.format == "json":
        _print_json({"before": done.before, "after": done.after})
    else:
        where = f" in {args.env}" if args.env else ""
        print(f"{args.job}: run {done.before or '(none)'} -> {done.after}{where}\n\nNext:\n\n  tfgen render {args.job}")
    return OK


def _explain(args: argparse.Namespace) -> int:
    from tfgen.explain import explain

    text = explain(args.path)
    if args.format == "json":
        _print_json({"path": args.path, "text": text})
    else:
        print(text, end="")
    return OK


def _schema(args: argparse.Namespace) -> int:
    from tfgen import schema_file

    del args  # the schema is JSON in every format
    print(schema_file.text(), end="")
    return OK


def _checked(paths: Sequence[Path]) -> Any:
    from tfgen.check import check_all
    from tfgen.sources import read_sources

    return check_all((source.content, source.file) for source in read_sources(paths))


def _report(args: argparse.Namespace, problems: Any, *, written: Any = None, to_stdout: bool = True) -> None:
    """The problems: as text on standard error, as JSON in the command's one object on standard output."""
    from tfgen.problems import as_text, rows

    if args.format == "json" and to_stdout:
        _print_json({"problems": rows(problems), **(written or {})})
    else:
        print(as_text(problems), end="", file=sys.stderr)


def _with_progress(items: Sequence[Any], doing: str) -> Any:
    """The items; on a terminal, a line that counts them."""
    if len(items) < 20 or not sys.stderr.isatty():
        yield from items
        return
    for number, item in enumerate(items, start=1):
        print(f"\r{doing} {number}/{len(items)}", end="", file=sys.stderr, flush=True)
        yield item
    print("\r\033[K", end="", file=sys.stderr)


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _print_json(data: Any) -> None:
    import json

    print(json.dumps(data, indent=2, ensure_ascii=False))


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tfgen",
        description="Helm charts and kustomize overlays for distributed TensorFlow, from one job.yaml.",
        epilog="Exit codes: 0 fine, 1 problems found, 2 wrong usage, 3 an error of tfgen's own or of a tool.",
    )
    parser.add_argument("--version", action="version", version=f"tfgen {__version__}")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show where an error comes from")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, function: Command, text: str, *more_formats: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[common], help=text, description=text[0].upper() + text[1:] + ".")
        added.set_defaults(command=function)
        formats = ("text", "json", *more_formats)
        added.add_argument("--format", choices=formats, default="text", help="how results are printed")
        return added

    render = command("render", _render, "write the charts and overlays of jobs")
    render.add_argument("jobs", nargs="+", type=Path, metavar="JOB", help="a job.yaml, or a folder with some below it")
    render.add_argument("--out", type=Path, metavar="DIR", help="where charts/ and overlays/ go (the repo's root)")
    render.add_argument("--force", action="store_true", help="write over files that were edited by hand")
    render.add_argument("--stdout", action="store_true", help="print the objects instead of writing files")
    render.add_argument("--env", metavar="ENV", help="with --stdout: the objects of this environment")

    check = command("check", _check, "say what is wrong with jobs, and which change needs a new run", "github")
    check.add_argument("jobs", nargs="+", type=Path, metavar="JOB", help="a job.yaml, or a folder with some below it")
    check.add_argument("--against", default="HEAD", metavar="REV", help="the revision that is compared with (HEAD)")

    init = command("init", _init, "write a commented job.yaml to start from")
    init.add_argument("name", metavar="NAME", help="the job's name")
    init.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="the folder in which NAME/ is made")

    rerun = command("rerun", _rerun, "give a job's next run its name, in job.yaml")
    rerun.add_argument("job", type=Path, metavar="JOB", help="a job.yaml")
    rerun.add_argument("--env", metavar="ENV", help="the environment that is to run again (all, without it)")
    folder = rerun.add_mutually_exclusive_group()
    folder.add_argument("--resume", action="store_true", help="go on in the folder of the last run")
    folder.add_argument("--fresh", action="store_true", help="begin in a folder of the new run's own (the default)")

    explain = command("explain", _explain, "say what a key of job.yaml means")
    explain.add_argument("path", nargs="?", default="", metavar="PATH", help="such as spec.roles.worker.resources.gpu")

    command("schema", _schema, "print the JSON Schema of job.yaml")
    return parser

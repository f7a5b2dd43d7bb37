"""``tfgen rm``: a job taken out of git, or retired in one environment."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import one_job, path, print_json, say
from tfgen.errors import UsageError


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", type=path, metavar="JOB", help="a job.yaml, or the name of a job whose file is gone")
    parser.add_argument("--env", metavar="ENV", help="only retire it there: nothing runs, and its claims stay")
    parser.add_argument("--out", type=path, metavar="DIR", help="where charts/ and overlays/ are (the repo's root)")
    parser.add_argument(
        "--force",
        action="store_true",
        help="remove what git does not have as it is, too, and by name though the file stays",
    )


def _run(args: Namespace) -> int:
    return _remove(args) if args.env is None else _retire(args)


def _retire(args: Namespace) -> int:
    from tfgen.job.facts import check_environment, environments_of
    from tfgen.text.edit import with_values
    from tfgen.tree.disk_file import read_text, replace_text

    _named_by_file(args)
    document = one_job(args, "one at a time is retired")
    if document is None:
        return PROBLEMS
    check_environment(document, args.env)
    place = ("spec", "environments", args.env)
    file = Path(document.file)
    is_new = environments_of(document)[args.env].get("enabled", True)
    if is_new:
        text = read_text(file)
        replace_text(file, text, with_values(text, document, {place: {"enabled": False}}))
    if args.format == "json":
        print_json({"retired": args.env, "changed": is_new})
    elif is_new:
        print(f"{file}: retired in {args.env}\n\nNext:\n\n  tfgen render {file}")
    else:
        print(f"{file}: retired in {args.env} already")
    return OK


def _named_by_file(args: Namespace) -> None:
    """Refuses a job's name where its file is needed.

    Raises:
        UsageError: it is a name; with the job's file, where there is one.
    """
    from tfgen.job.output_root import output_root

    if args.job.exists():
        return
    files = _files_of(str(args.job), args.out or output_root(Path()))
    there = f"; {args.job} is in {', '.join(files)}" if files else ""
    raise UsageError(f"{args.job}: no such file, and --env is written into a job's file{there}")


def _files_of(name: str, out: Path) -> list[str]:
    """The files that have a job, named as a person here would."""
    from tfgen.commands.remove import files_of

    here = Path.cwd()
    return [str(file.relative_to(here) if file.is_relative_to(here) else file) for file in files_of(name, out)]


def _remove(args: Namespace) -> int:
    from tfgen.commands.remove import job_in, remove_file
    from tfgen.commands.removed_jobs import removal
    from tfgen.job.output_root import output_root
    from tfgen.tree.write import apply, plan_write, read_ledgers

    file = args.job
    out = args.out or output_root(file.parent if file.is_file() else Path())
    name = job_in(file, force=args.force) if file.is_file() else str(file)
    ledgers = read_ledgers(out)
    if name not in ledgers and not file.is_file():
        known = ", ".join(sorted(ledgers)) or "none"
        what = "a folder, not a job's file" if file.is_dir() else "no such file"
        raise UsageError(f"{args.job}: {what}, and no job of that name was rendered; there are: {known}")
    if not (file.is_file() or args.force) and (files := _files_of(name, out)):
        raise UsageError(
            f"{name}: {', '.join(files)} still has it, and would be rendered anew; remove both by "
            f"tfgen rm {files[0]}, or only what was rendered by --force"
        )
    plan = apply(plan_write(out, [removal(name)] if name in ledgers else [], force=args.force))
    for conflict in plan.lost:
        say(f"lost: {conflict}")
    removed = list(plan.removed)
    if file.is_file():
        removed += (str(path) for path in remove_file(file))
    if args.format == "json":
        print_json({"removed": removed})
    else:
        print("".join(f"removed  {file_name}\n" for file_name in removed), end="")
    return OK


COMMAND: Final = Command("rm", "take a job out of git, or retire it in an environment", _arguments, _run)

"""What commands share in reading their jobs and printing their results."""

from __future__ import annotations

import io
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

from tfgen.words import for_terminal

if TYPE_CHECKING:
    from tfgen.change.job_diff import JobDiff
    from tfgen.check.checked import CheckedJobs
    from tfgen.commands.git.commit_steps import Outcome
    from tfgen.problems import Problem
    from tfgen.text.document import Document

_Item = TypeVar("_Item")

COLOURS: Final = (36, 33, 32, 35, 34, 31)
"""The codes of the terminal's colours but black and white, those that are easiest to tell apart first."""

_LONG: int = 20
"""Items whose work a person waits for."""


def path(text: str) -> Path:
    """The type of an argument that is a file or a folder: not empty, as an unset variable of a shell is.

    Raises:
        ArgumentTypeError: it is; `Path` would take it for the working directory.
    """
    if not text:
        raise ArgumentTypeError("an empty path; write . for the working directory")
    return Path(text)


def number(text: str) -> int:
    """The type of an argument that counts, from 0 on.

    Raises:
        ArgumentTypeError: it is no number.
    """
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is no number")
    return int(text)


def jobs_argument(parser: ArgumentParser) -> None:
    """Adds `args.jobs`, which `checked` takes."""
    parser.add_argument("jobs", nargs="+", type=path, metavar="JOB", help="a job.yaml, or a folder with some below it")


def checked(paths: Sequence[Path]) -> CheckedJobs:
    """The jobs in files and folders, and what is wrong with them; a folder without any is an error, or is none."""
    from tfgen.check.jobs import check_all
    from tfgen.job.sources import read_sources

    return check_all(read_sources(paths))


def job_name_argument(parser: ArgumentParser) -> None:
    """Adds `args.job_name`, the name of a job in a file with several."""
    parser.add_argument("--job", dest="job_name", metavar="JOB-NAME", help="the job, in a file with several")


def one_job(args: Namespace) -> Document | None:
    """The job in the one file `args.job`; none where it has errors, which are reported.

    Raises:
        UsageError: the file has several jobs without `args.job_name`, or no job of that name.
    """
    from tfgen.job.named_job import choose_job
    from tfgen.problems import has_errors

    jobs = checked([args.job])
    if has_errors(jobs.problems):
        report(args, jobs.problems)
        return None
    return choose_job(jobs.documents, str(args.job), args.job_name)


def report(args: Namespace, problems: Iterable[Problem], *, written: Mapping[str, Any] | None = None) -> None:
    """The problems: as text on standard error, as JSON in the command's one object on standard output."""
    from tfgen.report.problems import rows

    if args.format == "json":
        print_json({"problems": rows(problems), **(written or {})})
    else:
        print_message(problem_text(problems, sys.stderr), end="")


def problem_text(problems: Iterable[Problem], stream: TextIO) -> str:
    """The problems as a stream is to have them: with the lines that they are in on a terminal, else one line each."""
    if stream.isatty():
        from tfgen.report.excerpts import as_excerpts

        return as_excerpts(problems, _lines)
    from tfgen.report.problems import as_text

    return as_text(problems)


def _lines(file: str) -> Sequence[str]:
    """The lines of a file as its problems count them; none of what cannot be read, such as standard input."""
    try:
        content = Path(file).read_bytes()
    except (OSError, ValueError):
        return ()
    return content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").split("\n")


def commit_data(done: Outcome) -> dict[str, Any]:
    """What a commit did, as data."""
    from tfgen.report.problems import rows

    return {
        "commit": done.commit or None,
        "message": done.message,
        "files": done.files,
        "branch": done.branch,
        "pushedTo": done.pushed_to or None,
        "problems": rows(done.problems),
        "notes": done.notes,
        "ends": ends_data(done.ends),
        **({"rendered": commit_data(done.rendered)} if done.rendered else {}),
    }


def ends_data(ends: Sequence[JobDiff]) -> list[dict[str, Any]]:
    """Return the ends of runs as data, with the keys of a job of `tfgen diff`."""
    from tfgen.report.diff_json import rows

    return [rows(job) for job in ends]


def print_ends(ends: Sequence[JobDiff]) -> None:
    """Print the runs that a change ends, and the claims that stay in the cluster."""
    from tfgen.report.diff_text import ends_text

    if ends:
        print_result(f"runs that end, and claims that stay:\n{ends_text(ends)}", end="")


def print_remaining(files: Sequence[str]) -> None:
    """Print the files that stay in the folders of a job without rendered files."""
    if files:
        print_result(f"files that stay, because tfgen did not write the files: {', '.join(files)}")


def print_commit(done: Outcome) -> None:
    """What a commit did, as text."""
    from tfgen.plural import count

    print_message(problem_text(done.problems, sys.stderr), end="")
    for note in done.notes:
        print_message(f"note: {note}")
    commits = [one for one in (done, done.rendered) if one]
    for one in commits:
        if one.commit:
            subject = one.message.partition("\n")[0]
            print_result(f"{one.branch} {one.commit[:12]} {subject}\n{count(len(one.files), 'file')} committed")
    print_ends(done.ends)
    if not any(one.commit for one in commits):
        print_result("nothing to commit: what is committed is what the jobs render to")
    for one in commits:
        if one.pushed_to:
            print_result(f"pushed to {one.pushed_to}")


def with_progress(items: Iterable[_Item], many: int, doing: str) -> Generator[_Item, None, None]:
    """The items, which are so many; on a terminal, a line that counts them."""
    if many < _LONG or not sys.stderr.isatty():
        yield from items
        return
    try:
        for number, item in enumerate(items, start=1):
            print(f"\r{doing} {number}/{many}", end="", file=sys.stderr, flush=True)
            yield item
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def columns() -> int | None:
    """The width of the terminal; None where standard output is none, and nothing says one.

    argparse would ask shutil, and so load two libraries of compression at each start.
    """
    text = os.environ.get("COLUMNS", "")
    if text.isdecimal() and int(text):
        return int(text)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None


def is_in_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user wants colours: https://no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(data: Any) -> None:
    """Print data on standard output, with JSON's own escape for each character that a terminal would obey or hide."""
    import json

    text = json.dumps(data, indent=2, ensure_ascii=False)
    lines = (line if line.isprintable() else _escaped(line) for line in text.split("\n"))
    print("\n".join(lines))


def _escaped(line: str) -> str:
    import json

    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def print_message(text: str, end: str = "\n") -> None:
    """Print a message, which is no data, on standard error, without what a terminal would obey or hide."""
    print(for_terminal(text), end=end, file=sys.stderr)


def print_result(text: str, end: str = "\n", *, flush: bool = False) -> None:
    """Print a result in words on standard output, without what a terminal would obey or hide."""
    print(for_terminal(text), end=end, flush=flush)


def accept_any_text() -> None:
    """Lets both streams take what a job may hold, whatever the locale: data is UTF-8, as YAML and JSON are."""
    for stream, encoding in ((sys.stdout, "utf-8"), (sys.stderr, None)):
        if isinstance(stream, io.TextIOWrapper):  # a test may have put something else in its place
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def discard_output() -> None:
    """Keeps Python from writing at its end what could not be written before."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

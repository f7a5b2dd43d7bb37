"""Functions that several commands use to read jobs and to print results, and the exit codes."""

from __future__ import annotations

import io
import os
import sys
from argparse import Namespace
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

from tfgen.errors import stop_at_errors
from tfgen.words import for_terminal

if TYPE_CHECKING:
    from tfgen.change.job_diff import JobDiff
    from tfgen.check.checked import CheckedJobs
    from tfgen.errors import Problem
    from tfgen.text.document import Document

_Item = TypeVar("_Item")

OK: Final = 0
PROBLEMS: Final = 1  # the input has errors, or a write would delete an edit of the user
USAGE: Final = 2  # the command line is wrong, or names a file or an environment that does not exist
FAILED: Final = 3  # tfgen, the disk, or a tool that tfgen calls fails
INTERRUPTED: Final = 130  # after SIGINT: 128 plus the number of the signal, as in shells

COLOURS: Final = (36, 33, 32, 35, 34, 31)
"""ANSI codes of terminal colours, except for black and white. The first colours differ most from each other."""

_PROGRESS_ITEMS: int = 20
"""Minimum number of items for which a terminal shows the progress. Fewer items take less than a second."""


def read_jobs(paths: Sequence[Path]) -> CheckedJobs:
    """Read the jobs in files and folders.

    Raises:
        UsageError: a path cannot be read, or the paths contain no job.
        ProblemsError: a job has errors.
    """
    jobs = check_jobs(paths)
    stop_at_errors(jobs.problems)
    return jobs


def check_jobs(paths: Sequence[Path]) -> CheckedJobs:
    """Read and check the jobs in files and folders.

    Raises:
        UsageError: a path cannot be read, or the paths contain no job.
    """
    from tfgen.check.jobs import check_all
    from tfgen.job.sources import read_sources

    return check_all(read_sources(paths))


def read_job(args: Namespace) -> Document:
    """Return the job in the file `args.job`.

    Raises:
        UsageError: the file does not have the job, or the file has several jobs and --job is missing.
        ProblemsError: the job has errors.
    """
    from tfgen.job.facts import choose_job

    return choose_job(read_jobs([args.job]).documents, str(args.job), args.job_name)


def report(args: Namespace, problems: Iterable[Problem], *, written: Mapping[str, Any] | None = None) -> None:
    """Print problems as text on standard error, or as JSON on standard output.

    Args:
        args: the command line.
        problems: the problems.
        written: additional fields of the JSON object, key -> value.
    """
    from tfgen.report.problems import rows

    if args.format == "json":
        print_json({"problems": rows(problems), **(written or {})})
    else:
        print_message(problem_text(problems, sys.stderr), end="")


def problem_text(problems: Iterable[Problem], stream: TextIO) -> str:
    """Return problems as text. For a terminal, the text includes excerpts of the files."""
    if stream.isatty():
        from tfgen.report.problems import as_excerpts

        return as_excerpts(problems, _lines)
    from tfgen.report.problems import as_text

    return as_text(problems)


def _lines(file: str) -> Sequence[str]:
    """Return the lines of a file, for excerpts; empty for standard input and for a file that cannot be read."""
    try:
        content = Path(file).read_bytes()
    except (OSError, ValueError):
        return ()
    return content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").split("\n")


def ended_runs_data(ends: Sequence[JobDiff]) -> list[dict[str, Any]]:
    """Return the runs that a change ends, and the claims that remain, as JSON data in the format of `tfgen diff`."""
    from tfgen.report.diff import rows

    return [rows(job) for job in ends]


def print_ended_runs(ends: Sequence[JobDiff]) -> None:
    """Print the runs that a change ends, the runs that continue without their job, and the claims that remain."""
    from tfgen.report.diff import ended_runs_text

    for is_continuing, title in ((False, "runs that end"), (True, "runs that leave git, but continue")):
        if jobs := [job for job in ends if job.is_removed_without_gitops == is_continuing]:
            environments = [environment for job in jobs for environment in job.environments]
            titles = [title] if any(environment.ends_run for environment in environments) else []
            titles += ["claims that remain"] if any(environment.kept_claims for environment in environments) else []
            print_result(f"{', and '.join(titles)}:\n{ended_runs_text(jobs)}", end="")


def print_remaining(files: Sequence[str]) -> None:
    """Print the files that tfgen did not write and that remain in the folders of a removed or renamed job."""
    if files:
        print_result(f"files that remain, because tfgen did not write them: {', '.join(files)}")


def with_progress(items: Iterable[_Item], total: int, work: str) -> Generator[_Item, None, None]:
    """Yield items, and show the progress on a terminal, such as "checking 7/120".

    Args:
        items: the items.
        total: the number of items.
        work: the verb for the progress line, for example "checking".
    """
    if total < _PROGRESS_ITEMS or not sys.stderr.isatty():
        yield from items
        return
    try:
        for number, item in enumerate(items, start=1):
            print(f"\r{work} {number}/{total}", end="", file=sys.stderr, flush=True)
            yield item
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def columns() -> int | None:
    """Return the width of the terminal; None if COLUMNS is not set and standard output is not a terminal."""
    # Not `shutil.get_terminal_size`, as in argparse: the module `shutil` imports two compression libraries.
    text = os.environ.get("COLUMNS", "")
    if text.isdecimal() and int(text):
        return int(text)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None


def is_in_colour(stream: TextIO) -> bool:
    """Return whether to print colours: the stream is a terminal, and NO_COLOR is not set (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(data: Any) -> None:
    """Print data as JSON on standard output. Control characters and invisible characters are escaped."""
    import json

    text = json.dumps(data, indent=2, ensure_ascii=False)
    if not text.replace("\n", "").isprintable():
        text = "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
    print(text)


def print_message(text: str, end: str = "\n") -> None:
    """Print a message on standard error. Control characters and invisible characters are escaped.

    GitHub Actions reads a line that begins with `::` as a workflow command, so a name in the message cannot begin such
    a line.
    """
    lines = for_terminal(text).split("\n")
    safe = (line.replace("::", "\\x3a:", 1) if line.lstrip().startswith("::") else line for line in lines)
    print("\n".join(safe), end=end, file=sys.stderr)


def print_result(text: str, end: str = "\n", *, flush: bool = False) -> None:
    """Print a text result on standard output. Control characters and invisible characters are escaped."""
    print(for_terminal(text), end=end, flush=flush)


def accept_any_text() -> None:
    """Configure standard output and standard error to accept every Unicode character, in every locale.

    Standard output is UTF-8, the encoding of YAML and JSON.
    """
    for stream, encoding in ((sys.stdout, "utf-8"), (sys.stderr, None)):
        if isinstance(stream, io.TextIOWrapper):  # a test may have replaced the stream
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def discard_output() -> None:
    """Redirect standard output to /dev/null, so that Python can flush the output buffer at exit without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Arguments that several commands share, and the conversions of their values."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from tfgen.record import Record

_Convert: TypeAlias = Callable[[str], object]
_UNITS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Watched(Record):
    """What a command with ``--watch`` reads and writes. Every such command reads jobs and their rendered files.

    Attributes:
        refuses: the names of options that do not fit to ``--watch``.
        reads_repository: whether the command reads YAML files outside of JOB as well, and files with settings of git.
        writes: whether the command writes rendered files.
    """

    refuses: tuple[str, ...]
    reads_repository: bool = False
    writes: bool = False


def flag(parser: ArgumentParser, names: str, text: str) -> None:
    """Add an option without a value. `names` are the option strings, such as "-f --follow", and `text` is the help."""
    parser.add_argument(*names.split(), action="store_true", help=text)


def option(
    parser: ArgumentParser, names: str, metavar: str | None, text: str, convert: _Convert = str, default: object = None
) -> None:
    """Add an option with a value. `names` are the option strings, and `text` is the help.

    If `metavar` is None, argparse derives the name of the value from the name of the option.
    """
    parser.add_argument(*names.split(), type=convert, default=default, metavar=metavar, help=text)


def choice(parser: ArgumentParser, name: str, choices: Sequence[str], text: str, default: str | None = None) -> None:
    """Add an option with one of several values. `text` is the help."""
    parser.add_argument(name, choices=choices, default=default, help=text)


def repeatable(parser: ArgumentParser, name: str, metavar: str, text: str, convert: _Convert = str) -> None:
    """Add an option that may occur several times. Its value is the list of all given values."""
    parser.add_argument(name, action="append", default=[], type=convert, metavar=metavar, help=text)


def run_arguments(parser: ArgumentParser, *, may_be_removed: bool = False) -> None:
    """Add the arguments JOB, --job and --env, which select the run of a job.

    With `may_be_removed`, JOB may also be the name of a job that was removed from the repository.
    """
    job_argument(parser, may_be_removed=may_be_removed)
    option(parser, "--env", "ENV", "the environment (default: none)")


def cluster_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that select a cluster and a namespace, as in kubectl."""
    option(parser, "--kubeconfig", "FILE", "the kubeconfig (default: $KUBECONFIG or ~/.kube/config)")
    text = "the kubeconfig context (default: the cluster of the environment, or the current context)"
    option(parser, "--context", None, text)
    option(parser, "-n --namespace", None, "the namespace (default: the namespace of the job, or of the context)")


def release_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that select a Helm release of a job, a cluster and a namespace."""
    text = "the Helm release (default: the release with the name of the job, or the only release)"
    option(parser, "--release", None, text)
    cluster_arguments(parser)


def seconds(text: str) -> int:
    """Convert a duration to seconds. A duration is `90s`, `10m`, `2h`, `1d`, or a number of seconds.

    Raises:
        ArgumentTypeError: the text is not a duration.
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    if not number.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a duration; write for example 90s, 10m, 2h or 1d")
    return int(number) * _UNITS[unit]


def path(text: str) -> Path:
    """Convert an argument to a path.

    Raises:
        ArgumentTypeError: the argument is empty, for example because a shell variable is not set.
    """
    if not text:
        raise ArgumentTypeError("the path is empty; write . for the working directory")
    return Path(text)


def number(text: str) -> int:
    """Convert an argument to an integer of at least 0.

    Raises:
        ArgumentTypeError: the argument is not an integer, or is negative.
    """
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a valid number; write an integer of at least 0")
    return int(text)


def jobs_argument(parser: ArgumentParser, default: str = "") -> None:
    """Add the argument JOB..., the job files and folders of a command, as `args.jobs`.

    Args:
        parser: the parser of the command.
        default: the default of JOB in the words of the help, such as "the repository"; empty if JOB is required.
    """
    text = f"a job.yaml, or a folder that contains jobs{f' (default: {default})' if default else ''}"
    parser.add_argument("jobs", nargs="*" if default else "+", type=path, metavar="JOB", help=text)


def out_argument(parser: ArgumentParser) -> None:
    """Add the argument --out, the output folder of a command, as `args.out`."""
    option(parser, "--out", "DIR", "the folder of charts/ and overlays/ (default: the repository)", path)


def against_argument(parser: ArgumentParser) -> None:
    """Add the argument --against, the git revision to compare with, as `args.against`."""
    option(parser, "--against", "REV", "the git revision to compare with (default: HEAD)", default="HEAD")


def job_argument(parser: ArgumentParser, *, may_be_removed: bool = False) -> None:
    """Add the arguments JOB and --job, the job file and the name of the job, as `args.job` and `args.job_name`."""
    text = "a job.yaml" + (", or the name of a job that was removed from the repository" if may_be_removed else "")
    parser.add_argument("job", type=path, metavar="JOB|NAME" if may_be_removed else "JOB", help=text)
    job_name_argument(parser)


def job_name_argument(parser: ArgumentParser) -> None:
    """Add the argument --job, the name of a job in a file with several jobs, as `args.job_name`."""
    parser.add_argument(
        "--job", dest="job_name", metavar="JOB-NAME", help="the name of the job, if the file has several jobs"
    )

"""``tfgen import``: convert manifests that tfgen did not render to a job.yaml."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments
from tfgen.cli.output import path, print_message, report
from tfgen.words import count

if TYPE_CHECKING:
    from tfgen.commands.importing.import_jobs import Source

_SUMMARY: Final = "convert a TFJob or other manifests to a job.yaml"
_EXAMPLE: Final = "tfgen import tfjob.yaml --out mnist/job.yaml"

_KINDS: Final = ("StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        type=path,
        metavar="FILE",
        help="manifests, scripts with `arena submit tfjob` or `elasticdl train`, or a folder of kustomize overlays, "
        "one for each environment; - is standard input",
    )
    parser.add_argument(
        "--command",
        action="append",
        default=[],
        metavar="COMMAND",
        help="a command that submits a job: arena submit tfjob ..., or elasticdl train ...",
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        type=_environment,
        metavar="NAME=FILE",
        help="the manifests or the overlay of the job in an environment",
    )
    parser.add_argument(
        "--cluster",
        nargs="*",
        metavar="KIND/NAME",
        help="import these jobs from a cluster, such as tfjob/mnist; without KIND/NAME, all jobs that run TensorFlow",
    )
    cluster_arguments(parser)
    parser.add_argument(
        "-o",
        "--out",
        type=_destination,
        metavar="JOB",
        help="the job file to write (default: standard output); DIR/ writes a file NAME/job.yaml for each job",
    )
    parser.add_argument(
        "--name", metavar="NAME", help="a new name for the job, if the original name is not valid in tfgen"
    )
    parser.add_argument(
        "--workload",
        choices=_KINDS,
        default=_KINDS[0],
        help="the workload kind of the job (default: StatefulSet, which needs no operator)",
    )
    parser.add_argument(
        "--operator-version",
        type=_version,
        metavar="X.Y",
        help="the version of the training operator that ran the job; some defaults of a TFJob depend on the version",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="also render the job with the original workload kind, and print the differences from the original",
    )


class _Destination(NamedTuple):
    """The value of ``--out``: a job file, or a folder for several job files."""

    path: Path
    is_folder: bool


def _destination(text: str) -> _Destination:
    """Parse the value of ``--out``. The value is a folder if it ends with a slash, or if the folder exists."""
    file = path(text)
    return _Destination(file, text.endswith("/") or file.is_dir())


def _version(text: str) -> tuple[int, int]:
    major, _, minor_and_patch = text.removeprefix("v").partition(".")
    minor = minor_and_patch.partition(".")[0]
    if not major.isdecimal() or not minor.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a version; write the version of the Kubeflow training operator, such as 1.7"
        )
    return int(major), int(minor)


def _run(args: Namespace) -> int:
    from tfgen.commands.importing.import_files import read_manifests, write_job, write_jobs
    from tfgen.commands.importing.import_jobs import import_jobs
    from tfgen.commands.importing.verify_import import verify
    from tfgen.errors import has_errors
    from tfgen.importers.options import Options
    from tfgen.report.imports import advice, entry_rows, summary, verified_rows, verified_text

    options = Options(kind=args.workload, name=args.name, operator=args.operator_version)
    sources, environments = read_manifests(args.files, args.command, args.env, _live(args))
    imported = import_jobs(sources, options, environments)
    if has_errors(imported.problems):
        report(args, imported.problems, written={"entries": entry_rows(imported.entries)})
        return PROBLEMS
    if args.out and args.out.is_folder:
        write_jobs(args.out.path, imported.jobs)
    elif args.out:
        write_job(args.out.path, imported.text)
    elif args.format == "text":
        print(imported.text, end="")
    verified = list(verify(imported, sources, options, environments)) if args.verify else []
    written = {"entries": entry_rows(imported.entries), "job": imported.text, "verified": verified_rows(verified)}
    report(args, imported.problems, written=written)
    if args.format == "text":
        print_message("".join(f"{entry}\n" for entry in imported.entries), end="")
        print_message(f"{count(len(imported.jobs), 'job')}: {summary(imported.entries)}")
        print_message(verified_text(verified), end="")
        if args.out:
            print_message(f"\nNext:\n\n  tfgen check {args.out.path}\n  tfgen render {args.out.path}")
        print_message(advice(imported.jobs), end="")
    return OK if all(job.is_explained for job in verified) else PROBLEMS


def _live(args: Namespace) -> list[Source]:
    """Read the manifests of jobs from the cluster; nothing without ``--cluster``.

    The jobs are the jobs that ``--cluster`` names; without a name, all jobs that run TensorFlow.
    """
    if args.cluster is None:
        return []
    from tfgen.commands.importing.live_manifests import live_manifests
    from tfgen.live.connection import Access

    return live_manifests(Access(args.kubeconfig, args.context, args.namespace), args.cluster, print_message)


def _environment(text: str) -> tuple[str, Path]:
    name, _, file = text.partition("=")
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) or not file:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=FILE; write the name of an environment and its file, such as prod=prod.yaml"
        )
    return name, path(file)


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)

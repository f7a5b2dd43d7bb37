"""``tfgen profile``: trace the training of a task or of all workers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import check_role, clusters_of, release_arguments, run_arguments, seconds
from tfgen.cli.output import number, path, print_json, print_message, print_result, read_job
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from tfgen.commands.profile import TraceRequest
    from tfgen.live.run import DeclaredRun

_SUMMARY: Final = "trace the training of a task or of all workers, and print the command that opens the trace"
_EXAMPLE: Final = "tfgen profile job.yaml --env prod --role worker --index 1 --seconds 5 --out trace"

_LONGEST: Final = 60
"""Default time in seconds after which TensorFlow's profiler client gives up."""


def _arguments(parser: ArgumentParser) -> None:
    run_arguments(parser)
    parser.add_argument(
        "--role", metavar="ROLE", help="the role of the task (default: chief, or worker in a job without a chief)"
    )
    parser.add_argument("--index", type=number, metavar="N", help="the index of the task in its role (default: 0)")
    parser.add_argument(
        "--all", action="store_true", help="trace all tasks of the role together (default role: worker)"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=5, metavar="TIME", help="the duration of the trace (default: 5)"
    )
    parser.add_argument(
        "-o",
        "--out",
        type=path,
        default=Path("trace"),
        metavar="DIR",
        help="the log folder for TensorBoard (default: trace)",
    )
    release_arguments(parser)


def _run(args: Namespace) -> int:
    from datetime import datetime

    from tfgen.commands.cluster.declared_runs import find_run
    from tfgen.commands.profile import check_traceable, may_end_workers, profile_run, write_profile
    from tfgen.live.api import ONCE
    from tfgen.words import count

    document = read_job(args)
    check_traceable(document)
    run = find_run(document, args.env).run
    request = _request(args, run)
    clusters = clusters_of(args, ONCE)
    run = clusters.with_release_names(run, args.release)
    live = clusters.place(run)
    if may_end_workers(run):
        print_message(
            "note: TensorFlow's profiler can end a worker of MultiWorkerMirroredStrategy; the run then resumes from "
            "its last checkpoint"
        )
    print_message(
        f"{run.title}: tracing {count(len(request.indexes), request.role)} for {count(request.seconds, 'second')}"
    )
    traces = profile_run(clusters.api(live.context), clusters.access(live), run, request)
    folder = write_profile(args.out, traces.files, datetime.now())
    if args.format == "json":
        print_json({"folder": str(folder), "files": sorted(traces.files), "failures": list(traces.failures)})
    else:
        print_result(f"trace: {folder}")
        print_result(f"open:  tensorboard --logdir {args.out}    # after pip install tensorboard xprof")
        print_result(f"or:    xprof --logdir {args.out}          # after pip install xprof")
    for failure in traces.failures:
        print_message(f"no trace: {failure}")
    return PROBLEMS if traces.failures else OK


def _request(args: Namespace, run: DeclaredRun) -> TraceRequest:
    from tfgen.commands.profile import TraceRequest
    from tfgen.live.run_state import leading_role

    if args.all and args.index is not None:
        raise UsageError("--all traces each task of the role; remove --index or --all")
    if not 1 <= args.seconds <= _LONGEST:
        raise UsageError(f"--seconds {args.seconds}: write a time from 1 to {_LONGEST} seconds")
    role = args.role or ("worker" if args.all else leading_role(run))
    check_role(role, run)
    if role not in run.roles:
        raise UsageError(f"--role {role}: the finisher runs no TensorFlow; name a role that trains")
    indexes = tuple(range(run.roles[role])) if args.all else (args.index or 0,)
    return TraceRequest(role, indexes, args.seconds)


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)

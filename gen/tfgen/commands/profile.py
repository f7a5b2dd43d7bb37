"""``tfgen profile``: trace the training of a task or of all workers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from tfgen.cli.arguments import flag, number, option, path, release_arguments, run_arguments, seconds
from tfgen.cli.live import check_role, clusters_of
from tfgen.cli.output import OK, PROBLEMS, print_json, print_message, print_result, read_job
from tfgen.errors import TfgenError, UsageError
from tfgen.kubernetes.object import Object
from tfgen.live.api import ONCE, Api
from tfgen.live.clusters import run_pods, task_pod
from tfgen.live.connection import Access
from tfgen.live.profile import check_traceable, trace_tasks
from tfgen.live.run import DeclaredRun, find_run
from tfgen.live.run_state import leading_role
from tfgen.tree.folder import write_folder
from tfgen.words import count

EXAMPLE: Final = "tfgen profile job.yaml --env prod --role worker --index 1 --seconds 5 --out trace"

_LONGEST: Final = 60
"""Default time in seconds after which TensorFlow's profiler client gives up."""


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser)
    option(parser, "--role", "ROLE", "the role of the task (default: chief, or worker in a job without a chief)")
    option(parser, "--index", "N", "the index of the task in its role (default: 0)", number)
    flag(parser, "--all", "trace all tasks of the role together (default role: worker)")
    option(parser, "--seconds", "TIME", "the duration of the trace (default: 5)", seconds, default=5)
    option(parser, "-o --out", "DIR", "the log folder for TensorBoard (default: trace)", path, default=Path("trace"))
    release_arguments(parser)


def run(args: Namespace) -> int:
    document = read_job(args)
    check_traceable(document)
    run = find_run(document, args.env).run
    role, indexes = _tasks(args, run)
    clusters = clusters_of(args, ONCE)
    run = clusters.with_release_names(run, args.release)
    live = clusters.place(run)
    if may_end_workers(run):
        print_message(
            "note: TensorFlow's profiler can end a worker of MultiWorkerMirroredStrategy; the run then resumes from "
            "its last checkpoint"
        )
    print_message(f"{run.title}: tracing {count(len(indexes), role)} for {count(args.seconds, 'second')}")
    access = clusters.access(live)
    files, failures = profile_run(clusters.api(live.context), access, run, role, indexes, args.seconds)
    folder = write_profile(args.out, files, datetime.now())
    if args.format == "json":
        print_json({"folder": str(folder), "files": sorted(files), "failures": failures})
    else:
        print_result(f"trace: {folder}")
        print_result(f"open:  tensorboard --logdir {args.out}    # after pip install tensorboard xprof")
        print_result(f"or:    xprof --logdir {args.out}          # after pip install xprof")
    for failure in failures:
        print_message(f"no trace: {failure}")
    return PROBLEMS if failures else OK


def _tasks(args: Namespace, run: DeclaredRun) -> tuple[str, Sequence[int]]:
    """Return the role and the indexes of the tasks to trace."""
    if args.all and args.index is not None:
        raise UsageError("--all traces each task of the role; remove --index or --all")
    if not 1 <= args.seconds <= _LONGEST:
        raise UsageError(f"--seconds {args.seconds}: write a time from 1 to {_LONGEST} seconds")
    role = args.role or ("worker" if args.all else leading_role(run))
    check_role(role, run)
    if role not in run.roles:
        raise UsageError(f"--role {role}: the finisher runs no TensorFlow; name a role that trains")
    return role, range(run.roles[role]) if args.all else (args.index or 0,)


def profile_run(
    api: Api, access: Access, run: DeclaredRun, role: str, indexes: Sequence[int], seconds: int
) -> tuple[dict[str, bytes], list[str]]:
    """Trace the requested tasks of a run at the same time.

    Return the content of each trace file, by the name of the file, and an error message for each task without a trace.

    Args:
        api: the client of the cluster.
        access: the kubeconfig, the context and the namespace of the run.
        run: the run.
        role: the role of the tasks.
        indexes: the indexes of the tasks in the role.
        seconds: the duration of the trace in seconds.

    Raises:
        ApiError: the user may not list pods.
        TfgenError: no task could be traced.
    """
    namespace = access.namespace or ""
    pods = run_pods(api, namespace, run)
    traceable: list[Object] = []
    errors: list[TfgenError] = []
    for index in indexes:
        try:
            traceable.append(task_pod(pods, namespace, run, role, index))
        except TfgenError as error:
            errors.append(error)
    files: dict[str, bytes] = {}
    for result in trace_tasks(access, traceable, seconds):
        if isinstance(result, TfgenError):
            errors.append(result)
        else:
            files |= result
    if not files:
        raise errors[0]
    return files, [str(error) for error in errors]


def write_profile(folder: Path, files: Mapping[str, bytes], time: datetime) -> Path:
    """Write trace files to a new folder below TensorBoard's log folder, and return the new folder.

    Args:
        folder: the log folder of TensorBoard.
        files: the content of each trace file, by the name of the file.
        time: the time for the name of the new folder.

    Raises:
        TfgenError: the disk fails. No file is written.
    """
    target = folder / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    write_folder(target, files.items())
    return target


def may_end_workers(run: DeclaredRun) -> bool:
    """Test whether a trace may crash a worker: True for a run with several workers and no chief.

    If a collective operation starts in one thread and ends in a different thread, TensorFlow's recorder frees invalid
    memory: SplitEventTracker::FindStartAndMerge. TensorFlow 2.20 and 2.21 have this fault.
    """
    return "chief" not in run.roles and run.roles.get("worker", 0) > 1

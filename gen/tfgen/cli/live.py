"""Common arguments of the commands that access a cluster, and functions that find the run and the cluster."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.output import job_argument, print_json, print_message, print_result, read_job, read_jobs
from tfgen.errors import UsageError, stop_at_errors
from tfgen.words import either

if TYPE_CHECKING:
    from tfgen.commands.cluster.live_runs import Clusters
    from tfgen.commands.cluster.target import ObjectChange, Target
    from tfgen.kubernetes.object import Object
    from tfgen.live.api import Patience
    from tfgen.live.run import DeclaredRun, Identity
    from tfgen.live.run_state import RunState
    from tfgen.text.document import Document

_UNITS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def run_arguments(parser: ArgumentParser, *, may_be_removed: bool = False) -> None:
    """Add the arguments JOB, --job and --env, which select the run of a job.

    With `may_be_removed`, JOB may also be the name of a job that was removed from the repository.
    """
    job_argument(parser, may_be_removed=may_be_removed)
    parser.add_argument("--env", metavar="ENV", help="the environment (default: none)")


def cluster_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that select a cluster and a namespace, as in kubectl."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig (default: $KUBECONFIG or ~/.kube/config)")
    parser.add_argument(
        "--context", help="the kubeconfig context (default: the cluster of the environment, or the current context)"
    )
    parser.add_argument(
        "-n", "--namespace", help="the namespace (default: the namespace of the job, or of the context)"
    )


def release_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that select a Helm release of a job, a cluster and a namespace."""
    parser.add_argument(
        "--release", help="the Helm release (default: the release with the name of the job, or the only release)"
    )
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


def clusters_of(args: Namespace, patience: Patience) -> Clusters:
    """Return the connections to the clusters that the arguments select."""
    from tfgen.commands.cluster.live_runs import Clusters
    from tfgen.live.connection import Access

    return Clusters(Access(args.kubeconfig, args.context, args.namespace), patience, print_message)


def read_run(args: Namespace, *, may_be_retired: bool = False) -> DeclaredRun:
    """Return the run that JOB, --job and --env select.

    Args:
        args: the command line.
        may_be_retired: whether the command also accepts a job that is retired in the environment.

    Raises:
        UsageError: the file does not have the job, the file has several jobs and --job is missing, or the environment
            does not exist.
        ProblemsError: the job has errors.
        TfgenError: the job is retired in the environment.
    """
    from tfgen.commands.cluster.declared_runs import find_run

    return find_run(read_live_job(args), args.env, may_be_retired=may_be_retired).run


def read_live_job(args: Namespace) -> Document:
    """Return the job in the file `args.job`, or the last version of the removed job with this name.

    Raises:
        UsageError: the file does not have the job, the file has several jobs and --job is missing, or git has no
            removed job with this name.
        ProblemsError: the job has errors.
    """
    if args.job.exists() or args.job.suffix or args.job_name:
        return read_job(args)
    from tfgen.commands.pipeline.removed_jobs import find_removed_job
    from tfgen.job.sources import output_root

    return find_removed_job(str(args.job), output_root(Path()))


def check_role(role: str | None, run: DeclaredRun) -> None:
    """Check that the run has the role of the argument --role.

    Raises:
        UsageError: the run does not have the role. The message lists the roles of the run.
    """
    roles = [*run.roles, *(["finisher"] if run.finisher else [])]
    if role is not None and role not in roles:
        raise UsageError(f"--role {role}: the run does not have this role; the roles are {either(roles, 'and')}")


def wait_for_run(args: Namespace, run: DeclaredRun, *, ends_when_running: bool) -> RunState:
    """Wait until a run has ended and its GPUs are released, or until the run is deleted.

    With `ends_when_running`, also return when all tasks run. Print a line for each change of the state and for each
    common error of a failed task. With --format json, print these lines on standard error.

    Raises:
        TfgenError: the wait takes longer than `args.timeout` seconds, or the cluster cannot be read.
    """
    import time

    from tfgen.commands.wait import follow_run
    from tfgen.live.api import FOLLOWING
    from tfgen.report.status import as_line, error_lines

    def print_line(line: str) -> None:
        print_message(line) if args.format == "json" else print_result(line, flush=True)

    deadline = None if args.timeout is None else time.monotonic() + args.timeout
    clusters = clusters_of(args, FOLLOWING.replaced(deadline=deadline))
    if not ends_when_running:
        run = clusters.with_release_names(run, args.release)
    last, has_ended = "", False
    errors: set[str] = set()
    for state in follow_run(clusters, run, args.timeout, deadline):
        line = as_line(state)
        if line != last and (state.is_stuck or not has_ended):  # after the end, print no line for each released task
            print_line(line)
        for error in error_lines(state):
            if error not in errors:
                print_line(error)
            errors.add(error)
        last, has_ended = line, state.end is not None
        if ends_when_running and state.phase == "Running":
            break
    return state


def change_arguments(parser: ArgumentParser, dry_run: str, force: str) -> None:
    """Add the arguments of a command that changes the objects of a job in a cluster, without JOB and --env.

    Args:
        parser: the parser of the command.
        dry_run: the help text of --dry-run.
        force: the help text of --force.
    """
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.add_argument("--force", action="store_true", help=force)
    cluster_arguments(parser)


def read_target(args: Namespace) -> tuple[Target, Sequence[Object]]:
    """Return the cluster and namespace of a run, and the objects of the run without Helm hooks.

    Raises:
        UsageError: the file does not have the job, the file has several jobs and --job is missing, or the environment
            does not exist.
        ProblemsError: the job has errors.
        TfgenError: the job is retired in the environment, or the kubeconfig has no access to the cluster.
    """
    from tfgen.commands.cluster.declared_runs import find_run
    from tfgen.commands.pipeline.render_objects import render_objects

    document = read_job(args)
    run = find_run(document, args.env).run
    objects, problems = render_objects([document], args.env)
    stop_at_errors(problems)
    return target_of(args, document, run), _without_hooks(objects)


def read_deletion_target(args: Namespace) -> tuple[Target, Sequence[Object]]:
    """Return the cluster and namespace of a run to delete, and the objects of the run without Helm hooks.

    The job may be retired in the environment.

    Raises:
        UsageError: the file does not have the job, the file has several jobs and --job is missing, or the environment
            does not exist.
        ProblemsError: the job has errors.
        TfgenError: the kubeconfig has no access to the cluster. Or the job is retired in the environment, and the
            objects now belong to an enabled environment with the same namespace and run name.
    """
    from tfgen.commands.cluster.declared_runs import check_place, find_run
    from tfgen.live.api import ONCE

    document = read_live_job(args)
    item = find_run(document, args.env, may_be_retired=True)
    if not clusters_of(args, ONCE).is_place_set:
        check_place(item.run, "delete")
    return target_of(args, document, item.run), _without_hooks(item.objects)


def target_of(args: Namespace, document: Document, run: DeclaredRun, *, needs_inventory: bool = True) -> Target:
    """Return the cluster and namespace of a run that a command changes.

    Args:
        args: the command line.
        document: the job.
        run: the run.
        needs_inventory: whether the command fails if the user may not read the inventory. Otherwise, only the labels
            of an object show that the job owns the object.

    Raises:
        UsageError: the kubeconfig has no context for the cluster of the run.
        ApiError: the user may not read the inventory.
        TfgenError: the kubeconfig has no access to the cluster, or the server does not answer in time.
    """
    from tfgen.commands.cluster.inventory import neighbors_of, read_inventory
    from tfgen.commands.cluster.target import Target
    from tfgen.live.api import ONCE, ApiError

    clusters = clusters_of(args, ONCE)
    live = clusters.place(run)
    api = clusters.api(live.context)
    inventory: Mapping[Identity, str] = {}
    try:
        inventory = read_inventory(api, live.namespace, run.job, args.env)
    except ApiError as error:
        if needs_inventory or not error.is_forbidden:
            raise
    rerun = " ".join(["tfgen", "rerun", str(args.job), *(["--env", args.env] if args.env else [])])
    return Target(
        api=api,
        namespace=live.namespace,
        job=run.job,
        full_name=run.full_name,
        rerun=rerun,
        environment=args.env,
        neighbors=neighbors_of(document, args.env),
        is_forced=getattr(args, "force", False),
        inventory=inventory,
    )


def _without_hooks(objects: Iterable[Object]) -> Sequence[Object]:
    from tfgen.kubernetes import keys

    return [item for item in objects if keys.HOOK not in item["metadata"].get("annotations", {})]


def print_changes(args: Namespace, changes: Iterable[ObjectChange], *, is_detailed: bool) -> None:
    """Print the outcome for each object as soon as the command has changed the object.

    With `is_detailed`, also print the changed fields.
    """
    from tfgen.report.live_changes import change_lines, change_row

    rows = []
    for change in changes:
        rows.append(change_row(change))
        if args.format == "text":
            for line in change_lines(change, is_detailed=is_detailed):
                print_result(line, flush=True)
    if args.format == "json":
        print_json({"objects": rows})


def read_all_runs(args: Namespace) -> Sequence[DeclaredRun]:
    """Return the runs of all jobs in a folder, in all environments. The default folder is the repository.

    Raises:
        UsageError: the folder contains no job.
        ProblemsError: a job has errors.
    """
    from tfgen.commands.cluster.declared_runs import declared_runs
    from tfgen.job.sources import output_root

    jobs = read_jobs([args.job or output_root(Path())])
    return [item.run for item in declared_runs(jobs.documents, args.env, in_all=True)]


def last_runs(args: Namespace) -> Sequence[DeclaredRun]:
    """Return the runs of the removed jobs that a folder contained last. The folder may be missing.

    Raises:
        UsageError: a job does not have the environment.
    """
    from tfgen.commands.cluster.declared_runs import declared_runs
    from tfgen.commands.pipeline.removed_jobs import find_last_jobs
    from tfgen.job.sources import output_root

    documents = find_last_jobs(args.job or output_root(Path()))
    return [item.run for item in declared_runs(documents, args.env, in_all=True)]

"""What the commands share that look at a cluster: their arguments, and the runs that these name."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tfgen.cli.output import checked, job_name_argument, one_job, path, print_json, print_message, print_result, report
from tfgen.errors import UsageError
from tfgen.words import either

if TYPE_CHECKING:
    from tfgen.commands.cluster.live_runs import Clusters
    from tfgen.commands.cluster.target import ObjectChange, Target
    from tfgen.kubernetes.object import Object
    from tfgen.live.declared_run import DeclaredRun
    from tfgen.live.pauses import Patience
    from tfgen.live.run_state import RunState
    from tfgen.text.document import Document

_UNITS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def job_argument(parser: ArgumentParser) -> None:
    """Adds `args.job` and `args.env`: the run of one job."""
    parser.add_argument("job", type=path, metavar="JOB", help="a job.yaml")
    job_name_argument(parser)
    parser.add_argument("--env", metavar="ENV", help="the environment (else the job itself)")


def cluster_arguments(parser: ArgumentParser) -> None:
    """Adds what says which cluster, as kubectl has it."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="instead of the variable KUBECONFIG and ~/.kube/config")
    parser.add_argument("--context", help="of the kubeconfig (that named as the environment's cluster, or the current)")
    parser.add_argument("-n", "--namespace", help="instead of the job's, and of the context's")


def release_argument(parser: ArgumentParser) -> None:
    """Adds `args.release`, of commands that look for a run."""
    parser.add_argument("--release", help="the Helm release (that of the job's name, or the only one)")


def seconds(text: str) -> int:
    """The type of an argument that is a time: `90s`, `10m`, `2h`, `1d`, or seconds alone.

    Raises:
        ArgumentTypeError: it is none.
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    if not number.isdecimal():
        raise ArgumentTypeError(f"{text!r} is no time, such as 90s, 10m, 2h or 1d")
    return int(number) * _UNITS[unit]


def clusters_of(args: Namespace, patience: Patience) -> Clusters:
    """The clusters that the arguments lead to."""
    from tfgen.commands.cluster.live_runs import Clusters
    from tfgen.live.connection import Access

    return Clusters(Access(args.kubeconfig, args.context, args.namespace), patience, print_message)


def one_run_of(args: Namespace, *, may_be_retired: bool = False) -> DeclaredRun | None:
    """The run that `args.job` and `args.env` name; none where the job has errors, which are reported.

    Args:
        args: the command line.
        may_be_retired: whether the command takes a run that the job does not have any more.

    Raises:
        UsageError: the file has another number of jobs, or the job has no such environment.
        TfgenError: the job does not run there.
    """
    from tfgen.commands.cluster.declared_runs import one_run

    document = one_job(args)
    return None if document is None else one_run(document, args.env, may_be_retired=may_be_retired).run


def check_role(role: str | None, run: DeclaredRun) -> None:
    """Whether the run has a role that the user names.

    Raises:
        UsageError: it has not; with those that it has.
    """
    known = [*run.roles, *(["finisher"] if run.finisher else [])]
    if role is not None and role not in known:
        raise UsageError(f"--role {role}: the run has no such role, but {either(known, 'and')}")


def wait_for_run(args: Namespace, run: DeclaredRun, *, may_run_on: bool) -> RunState:
    """Wait until a run has ended and is released, or is deleted. With `may_run_on`, wait until all tasks run.

    The function prints a line for each change, on standard error if the result is data.

    Raises:
        TfgenError: the run is in none of these states after `args.timeout` seconds, or the cluster cannot be read.
    """
    import time

    from tfgen.commands.wait import follow_run
    from tfgen.live.pauses import FOLLOWING
    from tfgen.report.status import as_line

    deadline = None if args.timeout is None else time.monotonic() + args.timeout
    clusters = clusters_of(args, FOLLOWING.replaced(deadline=deadline))
    if not may_run_on:
        run = clusters.named(run, args.release)
    last, has_ended = "", False
    for state in follow_run(clusters, run, args.timeout, deadline):
        line = as_line(state)
        if line != last and (state.is_stuck or not has_ended):  # a release changes the numbers after the end
            print_message(line) if args.format == "json" else print_result(line, flush=True)
        last, has_ended = line, state.end is not None
        if may_run_on and state.phase == "Running":
            break
    return state


def change_arguments(parser: ArgumentParser, dry_run: str) -> None:
    """Adds what a command takes that changes a job's objects: the run, `args.dry_run`, `args.force` and the cluster.

    Args:
        parser: the command's.
        dry_run: what --dry-run does.
    """
    job_argument(parser)
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.add_argument("--force", action="store_true", help="take over what another tool or person looks after")
    cluster_arguments(parser)


def target_of(args: Namespace) -> tuple[Target, Sequence[Object]] | None:
    """Where the run's objects go, and the objects; none where the job has errors, which are reported.

    Raises:
        UsageError: the file has another number of jobs, or the job has no such environment.
        TfgenError: the job does not run there.
    """
    from tfgen.commands.cluster.declared_runs import one_run
    from tfgen.commands.pipeline.render_objects import render_objects
    from tfgen.problems import has_errors

    document = one_job(args)
    if document is None:
        return None
    run = one_run(document, args.env).run
    objects, problems = render_objects([document], args.env)
    if has_errors(problems):
        report(args, problems)
        return None
    return _target(args, document, run), _without_hooks(objects)


def old_target_of(args: Namespace) -> tuple[Target, Sequence[Object]] | None:
    """Return the namespace and the objects of a run that goes, also of a retired run.

    None where the job has errors, which are reported.

    Raises:
        UsageError: the file has another number of jobs, or the job has no such environment.
        TfgenError: the kubeconfig does not lead to the cluster, or an enabled environment has the objects.
    """
    from tfgen.commands.cluster.declared_runs import check_place, one_run
    from tfgen.live.pauses import ONCE

    document = one_job(args)
    if document is None:
        return None
    item = one_run(document, args.env, may_be_retired=True)
    if not clusters_of(args, ONCE).is_named:
        check_place(item.run, "delete")
    return _target(args, document, item.run), _without_hooks(item.objects)


def _target(args: Namespace, document: Document, run: DeclaredRun) -> Target:
    from tfgen.commands.cluster.neighbors import neighbors_of
    from tfgen.commands.cluster.target import Target
    from tfgen.live.pauses import ONCE

    clusters = clusters_of(args, ONCE)
    live = clusters.place(run)
    rerun = " ".join(["tfgen", "rerun", str(args.job), *(["--env", args.env] if args.env else [])])
    return Target(
        api=clusters.api(live.context),
        namespace=live.namespace,
        job=run.job,
        rerun=rerun,
        environment=args.env,
        neighbors=neighbors_of(document, args.env),
        is_forced=args.force,
    )


def _without_hooks(objects: Iterable[Object]) -> Sequence[Object]:
    from tfgen.kubernetes import keys

    return [item for item in objects if keys.HOOK not in item["metadata"].get("annotations", {})]


def print_changes(args: Namespace, changes: Iterable[ObjectChange], *, is_detailed: bool) -> None:
    """Print what becomes of each object, as soon as it is known."""
    from tfgen.report.live_changes import change_lines, change_row

    rows = []
    for change in changes:
        rows.append(change_row(change))
        if args.format == "text":
            for line in change_lines(change, is_detailed=is_detailed):
                print_result(line, flush=True)
    if args.format == "json":
        print_json({"objects": rows})


def all_runs_of(args: Namespace) -> Sequence[DeclaredRun] | None:
    """The runs of all jobs in the folder `args.job`, or of the repository, in all environments.

    None where a job has errors, which are reported.
    """
    from tfgen.commands.cluster.declared_runs import all_jobs, declared_runs
    from tfgen.problems import has_errors

    jobs = checked([args.job or all_jobs()])
    if has_errors(jobs.problems):
        report(args, jobs.problems)
        return None
    return [item.run for item in declared_runs(jobs.documents, args.env, in_all=True)]

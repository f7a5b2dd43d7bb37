"""Functions of the commands that access a cluster: they find the run and the cluster, and print changes and states."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfgen.cli.output import print_json, print_message, print_result, read_job, read_jobs
from tfgen.errors import UsageError, stop_at_errors
from tfgen.job.facts import command_for
from tfgen.job.sources import output_root
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.live.api import FOLLOWING, ONCE, ApiError, Patience
from tfgen.live.clusters import Clusters, follow_run
from tfgen.live.connection import Access
from tfgen.live.run import DeclaredRun, Identity, check_place, declared_runs, find_run
from tfgen.live.run_state import RunState
from tfgen.live.target import ObjectChange, Target, neighbors_of, read_inventory
from tfgen.pipeline.objects import render_objects
from tfgen.pipeline.read import find_last_jobs, find_removed_job
from tfgen.report.diff import field_lines, field_row
from tfgen.report.status import as_line, error_lines
from tfgen.text.document import Document
from tfgen.words import either


def clusters_of(args: Namespace, patience: Patience) -> Clusters:
    """Return the connections to the clusters that the arguments select."""
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


def read_target(args: Namespace) -> tuple[Target, Sequence[Object]]:
    """Return the cluster and namespace of a run, and the objects of the run without Helm hooks.

    Raises:
        UsageError: the file does not have the job, the file has several jobs and --job is missing, or the environment
            does not exist.
        ProblemsError: the job has errors.
        TfgenError: the job is retired in the environment, or the kubeconfig has no access to the cluster.
    """
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
    clusters = clusters_of(args, ONCE)
    live = clusters.place(run)
    api = clusters.api(live.context)
    inventory: Mapping[Identity, str] = {}
    try:
        inventory = read_inventory(api, live.namespace, run.job, args.env)
    except ApiError as error:
        if needs_inventory or not error.is_forbidden:
            raise
    return Target(
        api=api,
        namespace=live.namespace,
        job=run.job,
        full_name=run.full_name,
        rerun=command_for(document, "rerun", *(("--env", args.env) if args.env else ())),
        environment=args.env,
        neighbors=neighbors_of(document, args.env),
        is_forced=getattr(args, "force", False),
        inventory=inventory,
    )


def _without_hooks(objects: Iterable[Object]) -> Sequence[Object]:
    return [item for item in objects if keys.HOOK not in item["metadata"].get("annotations", {})]


def print_changes(args: Namespace, changes: Iterable[ObjectChange], *, is_detailed: bool) -> None:
    """Print the outcome for each object as soon as the command has changed the object.

    With `is_detailed`, also print the changed fields.
    """
    rows = []
    for change in changes:
        rows.append(change_row(change))
        if args.format == "text":
            _, kind, name = change.identity
            reason = f": {change.reason}" if change.reason else ""
            lines = (f"    {line}" for field in change.fields for line in field_lines(field)) if is_detailed else ()
            for line in (f"{change.outcome:<9}  {kind} {name}{reason}", *lines):
                print_result(line, flush=True)
    if args.format == "json":
        print_json({"objects": rows})


def read_all_runs(args: Namespace) -> Sequence[DeclaredRun]:
    """Return the runs of all jobs in a folder, in all environments. The default folder is the repository.

    Raises:
        UsageError: the folder contains no job.
        ProblemsError: a job has errors.
    """
    jobs = read_jobs([args.job or output_root(Path())])
    return [item.run for item in declared_runs(jobs.documents, args.env, in_all=True)]


def last_runs(args: Namespace) -> Sequence[DeclaredRun]:
    """Return the runs of the removed jobs that a folder contained last. The folder may be missing.

    Raises:
        UsageError: a job does not have the environment.
    """
    documents = find_last_jobs(args.job or output_root(Path()))
    return [item.run for item in declared_runs(documents, args.env, in_all=True)]


def change_row(change: ObjectChange) -> dict[str, Any]:
    """Return the change of an object as plain data for JSON."""
    version, kind, name = change.identity
    fields = [field_row(field) for field in change.fields]
    reason = {"reason": change.reason} if change.reason else {}
    return {"action": change.outcome, "apiVersion": version, "kind": kind, "name": name, "fields": fields, **reason}

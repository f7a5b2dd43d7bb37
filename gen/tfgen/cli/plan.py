"""``tfgen plan``: print whether runs fit on the nodes of a cluster, and which resources a run lacks."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments, clusters_of
from tfgen.cli.output import check_jobs, path, print_json, print_message, print_result, report
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from tfgen.commands.cluster.declared_runs import RunObjects
    from tfgen.kubernetes.object import Object
    from tfgen.scheduling.verdict import Verdict


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "jobs", nargs="*", type=path, metavar="JOB", help="a job.yaml, or a folder that contains jobs (the repository)"
    )
    nodes = parser.add_mutually_exclusive_group(required=True)
    nodes.add_argument(
        "--nodes", type=path, metavar="FILE", help="a file with nodes and pods, from kubectl get nodes,pods -A -o yaml"
    )
    nodes.add_argument("--cluster", action="store_true", help="read the nodes and the pods of the cluster")
    parser.add_argument("--env", metavar="ENV", help="the environment of each job (the jobs without an environment)")
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.cluster.declared_runs import declared_runs
    from tfgen.job.output_root import output_root
    from tfgen.problems import has_errors
    from tfgen.report.plan import rows, verdict_text
    from tfgen.scheduling.verdict import DOES_NOT_FIT

    if args.nodes and (args.kubeconfig, args.context, args.namespace) != (None,) * 3:
        raise UsageError("--kubeconfig, --context and --namespace need --cluster")
    jobs = check_jobs(args.jobs or [output_root(Path())])
    if has_errors(jobs.problems):
        report(args, jobs.problems)
        return PROBLEMS
    runs = []
    for item in declared_runs(jobs.documents, args.env):
        if item.run.is_enabled:
            runs.append(item)
        else:
            print_message(f"{item.run.title}: skipped, because the job is retired in the environment (enabled: false)")
    verdicts = _of_file(args, runs) if args.nodes else _of_clusters(args, runs)
    if verdicts is None:
        return PROBLEMS
    if args.format == "json":
        print_json({"runs": rows(verdicts)})
    else:
        for verdict in verdicts:
            print_result(verdict_text(verdict))
    return PROBLEMS if any(verdict.answer == DOES_NOT_FIT for verdict in verdicts) else OK


def _of_file(args: Namespace, runs: Sequence[RunObjects]) -> list[Verdict] | None:
    """Plan the runs on the nodes of a file. Report the errors of the file, and return None."""
    from tfgen.commands.cluster.read_cluster_file import read_cluster_file
    from tfgen.commands.plan import plan_runs

    objects, problems = read_cluster_file(args.nodes)
    if problems:
        report(args, problems)
        return None
    _print_size(str(args.nodes), objects)
    return plan_runs([(item, item.run.namespace) for item in runs], objects)


def _of_clusters(args: Namespace, runs: Iterable[RunObjects]) -> list[Verdict]:
    """Plan the runs on the nodes of their clusters. Runs in one cluster are placed together."""
    from tfgen.commands.plan import plan_runs
    from tfgen.live.pauses import ONCE
    from tfgen.live.read_cluster import read_cluster

    clusters = clusters_of(args, ONCE)
    groups: dict[str | None, list[tuple[RunObjects, str | None]]] = {}
    for item in runs:
        live = clusters.place(item.run)
        groups.setdefault(live.context, []).append((item, live.namespace))
    verdicts = []
    for context, of_context in groups.items():
        api = clusters.api(context)
        objects = read_cluster(api, print_message)
        _print_size(api.connection.host, objects)
        verdicts += plan_runs(of_context, objects)
    return verdicts


def _print_size(source: str, objects: Iterable[Object]) -> None:
    """Print the number of nodes and pods, so that the user sees whether the file contains the whole cluster."""
    from tfgen.plural import count

    kinds = [item["kind"] for item in objects]
    print_message(f"{source}: {count(kinds.count('Node'), 'node')} and {count(kinds.count('Pod'), 'pod')}")


COMMAND: Final = Command(
    "plan",
    "print whether jobs fit on the nodes of a cluster, and which resources they lack",
    _arguments,
    _run,
    example="tfgen plan jobs --env prod --nodes nodes.yaml",
)

"""``tfgen plan``: print whether jobs fit on the nodes of a cluster. Also print the missing resources, and the nodes."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments, clusters_of
from tfgen.cli.output import (
    COLOURS,
    is_in_colour,
    jobs_argument,
    path,
    print_json,
    print_message,
    print_result,
    read_jobs,
)
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from tfgen.commands.cluster.declared_runs import RunObjects
    from tfgen.kubernetes.object import Object
    from tfgen.scheduling.verdict import Plan

_SUMMARY: Final = "print whether jobs fit on the nodes of a cluster, and name the missing resources"
_EXAMPLE: Final = "tfgen plan jobs --env prod --nodes nodes.yaml"


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser, default="the repository")
    nodes = parser.add_mutually_exclusive_group(required=True)
    nodes.add_argument(
        "--nodes", type=path, metavar="FILE", help="a file with nodes and pods, from kubectl get nodes,pods -A -o yaml"
    )
    nodes.add_argument("--cluster", action="store_true", help="read the nodes and the pods of the cluster")
    parser.add_argument("--env", metavar="ENV", help="the environment of the jobs (default: none)")
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.cluster.declared_runs import declared_runs
    from tfgen.job.sources import output_root
    from tfgen.report.plan import node_rows, rows
    from tfgen.scheduling.verdict import DOES_NOT_FIT

    if args.nodes and (args.kubeconfig, args.context, args.namespace) != (None,) * 3:
        raise UsageError("--kubeconfig, --context and --namespace need --cluster")
    jobs = read_jobs(args.jobs or [output_root(Path())])
    runs = []
    for item in declared_runs(jobs.documents, args.env):
        if item.run.is_enabled:
            runs.append(item)
        else:
            print_message(f"{item.run.title}: skipped, because the job is retired in the environment (enabled: false)")
    plans = _of_file(args, runs) if args.nodes else _of_clusters(args, runs)
    verdicts = [verdict for plan in plans.values() for verdict in plan.verdicts]
    for name in (name for plan in plans.values() for name in plan.left_out):
        print_message(f"the node {name} has no status.allocatable, so the plan ignores the node")
    if args.format == "json":
        nodes = [{"cluster": context, **row} for context, plan in plans.items() for row in node_rows(plan.nodes)]
        print_json({"runs": rows(verdicts), "nodes": nodes})
    else:
        _print_plans(plans)
    return PROBLEMS if any(verdict.answer == DOES_NOT_FIT for verdict in verdicts) else OK


def _print_plans(plans: Mapping[str | None, Plan]) -> None:
    """Print for each run whether the run fits, and print a picture of the nodes of each cluster.

    The argument `plans` is kubeconfig context -> plan, or None -> plan for the nodes in a file.
    """
    from tfgen.report.plan import node_lines, verdict_text

    for plan in plans.values():
        for verdict in plan.verdicts:
            print_result(verdict_text(verdict))
    colours = COLOURS if is_in_colour(sys.stdout) else ()
    for context, plan in plans.items():
        print_result(f"\nnodes of {context}:" if len(plans) > 1 else "")
        for line in node_lines(plan.nodes, colours):
            print(line)


def _of_file(args: Namespace, runs: Sequence[RunObjects]) -> dict[str | None, Plan]:
    """Plan the runs on the nodes in the file of --nodes. Return None -> plan: a file has no kubeconfig context."""
    from tfgen.commands.cluster.read_cluster_file import read_cluster_file
    from tfgen.commands.plan import plan_runs

    objects = read_cluster_file(args.nodes)
    _print_size(str(args.nodes), objects)
    return {None: plan_runs([(item, item.run.namespace) for item in runs], objects)}


def _of_clusters(args: Namespace, runs: Iterable[RunObjects]) -> dict[str | None, Plan]:
    """Plan the runs on the nodes of their clusters. Return kubeconfig context -> plan for the cluster."""
    from tfgen.commands.plan import plan_runs
    from tfgen.live.api import ONCE
    from tfgen.live.read_cluster import read_cluster

    clusters = clusters_of(args, ONCE)
    groups: dict[str | None, list[tuple[RunObjects, str | None]]] = {}
    for item in runs:
        live = clusters.place(item.run)
        groups.setdefault(live.context, []).append((item, live.namespace))
    plans = {}
    for context, of_context in groups.items():
        api = clusters.api(context)
        objects, kinds = read_cluster(api, print_message)
        _print_size(api.connection.host, objects)
        plans[context] = plan_runs(of_context, objects, kinds)
    return plans


def _print_size(source: str, objects: Iterable[Object]) -> None:
    """Print the number of nodes and pods in `objects`, so that the user sees whether a node is missing.

    `source` is the origin of the objects: a file name, or the host of an API server.
    """
    from tfgen.words import count

    kinds = [item["kind"] for item in objects]
    print_message(f"{source}: {count(kinds.count('Node'), 'node')} and {count(kinds.count('Pod'), 'pod')}")


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)

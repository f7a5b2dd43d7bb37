"""``tfgen plan``: whether runs fit on the nodes of a cluster, and what they lack where they do not."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments, clusters_of
from tfgen.cli.output import checked, path, print_json, print_message, print_result, report
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from tfgen.commands.cluster.declared_runs import RunObjects
    from tfgen.kubernetes.object import Object
    from tfgen.scheduling.verdict import Verdict


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "jobs", nargs="*", type=path, metavar="JOB", help="a job.yaml, or a folder with some (the repository)"
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--nodes", type=path, metavar="FILE", help="nodes, and pods that run there, as kubectl has them")
    where.add_argument("--cluster", action="store_true", help="the nodes of the cluster, and what runs there")
    parser.add_argument("--env", metavar="ENV", help="the environment of each job (else the jobs themselves)")
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.cluster.declared_runs import declared_runs
    from tfgen.job.output_root import output_root
    from tfgen.problems import has_errors
    from tfgen.report.plan import rows, verdict_text
    from tfgen.scheduling.verdict import DOES_NOT_FIT

    if args.nodes and (args.kubeconfig, args.context, args.namespace) != (None,) * 3:
        raise UsageError("--kubeconfig, --context and --namespace go with --cluster")
    jobs = checked(args.jobs or [output_root(Path())])
    if has_errors(jobs.problems):
        report(args, jobs.problems)
        return PROBLEMS
    runs = []
    for item in declared_runs(jobs.documents, args.env):
        if item.run.is_enabled:
            runs.append(item)
        else:
            print_message(f"{item.run.title}: left out, since the job is not to run there (enabled: false)")
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
    """The answers by the nodes of a file; None where it has errors, which are reported."""
    from tfgen.commands.cluster.read_cluster_file import read_cluster_file
    from tfgen.commands.plan import plan_runs

    objects, problems = read_cluster_file(args.nodes)
    if problems:
        report(args, problems)
        return None
    _tell_size(str(args.nodes), objects)
    return plan_runs([(item, item.run.namespace) for item in runs], objects)


def _of_clusters(args: Namespace, runs: Iterable[RunObjects]) -> list[Verdict]:
    """The answers by the clusters that the runs are in; those of one cluster are placed together."""
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
        _tell_size(api.connection.host, objects)
        verdicts += plan_runs(of_context, objects)
    return verdicts


def _tell_size(where: str, objects: Iterable[Object]) -> None:
    """Say how much was looked at: a file without nodes is no cluster without room."""
    from tfgen.plural import count

    kinds = [item["kind"] for item in objects]
    print_message(f"{where}: {count(kinds.count('Node'), 'node')}, {count(kinds.count('Pod'), 'pod')} there")


COMMAND: Final = Command(
    "plan",
    "say whether jobs fit on the nodes of a cluster, and what they lack",
    _arguments,
    _run,
    example="tfgen plan jobs --env prod --nodes nodes.yaml",
)

"""``tfgen release``: frees the GPUs of a run now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments, clusters_of, job_argument, one_run_of, release_argument
from tfgen.cli.output import print_json, print_result


def _arguments(parser: ArgumentParser) -> None:
    job_argument(parser)
    release_argument(parser)
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.cluster.declared_runs import check_place
    from tfgen.commands.release import release_run
    from tfgen.live.pauses import ONCE

    run = one_run_of(args, may_be_retired=True)
    if run is None:
        return PROBLEMS
    clusters = clusters_of(args, ONCE)
    if not clusters.is_named:
        check_place(run, "release")
    run = clusters.named(run, args.release)
    live = clusters.place(run)
    rows = []
    for item in release_run(clusters.api(live.context), live.namespace, run):
        _, kind, name = item.identity
        rows.append({"kind": kind, "name": name, "fate": item.fate})
        if args.format == "text":
            print_result(f"{kind} {name} {item.fate}", flush=True)
    if args.format == "json":
        print_json({"objects": rows})
    return OK


COMMAND: Final = Command(
    "release",
    "free the GPUs of a run now, whether it has ended or not",
    _arguments,
    _run,
    example="tfgen release job.yaml --env prod",
)

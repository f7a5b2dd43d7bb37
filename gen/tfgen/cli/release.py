"""``tfgen release``: free the GPUs of a run, even before the run ends."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import clusters_of, read_live_job, release_arguments, run_arguments, target_of
from tfgen.cli.output import print_json, print_result

if TYPE_CHECKING:
    from tfgen.commands.release import Released
    from tfgen.commands.release_lost import ReleasedPod

_SUMMARY: Final = "free the GPUs of a run, even if the run has not ended"
_EXAMPLE: Final = "tfgen release job.yaml --env prod"


def _arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    parser.add_argument(
        "--lost",
        action="store_true",
        help="delete only the pods on nodes that do not answer; their controllers create new pods",
    )
    release_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.cluster.declared_runs import check_place, find_run
    from tfgen.commands.release import LEFT, release_run
    from tfgen.commands.release_lost import release_lost
    from tfgen.live.api import ONCE

    document = read_live_job(args)
    run = find_run(document, args.env, may_be_retired=True).run
    clusters = clusters_of(args, ONCE)
    if not clusters.is_place_set:
        check_place(run, "release")
    run = clusters.with_release_names(run, args.release)
    target = target_of(args, document, run, needs_inventory=False).replaced(run=run.run)
    if args.lost:
        _print_rows(args, _lost_rows(release_lost(target, run)))
        return OK
    outcomes = _print_rows(args, _rows(release_run(target, run)))
    return PROBLEMS if LEFT in outcomes else OK


def _print_rows(args: Namespace, rows: Iterable[Mapping[str, str]]) -> set[str]:
    """Print a row for each object as soon as tfgen has changed the object: kind, name, outcome and reason.

    Return the outcomes.
    """
    outcomes = set()
    printed = []
    for row in rows:
        outcomes.add(row["outcome"])
        printed.append(row)
        if args.format != "json":
            reason = f": {row['reason']}" if row.get("reason") else ""
            print_result(f"{row['kind']} {row['name']} {row['outcome']}{reason}", flush=True)
    if args.format == "json":
        print_json({"objects": printed})
    return outcomes


def _rows(items: Iterable[Released]) -> Iterator[Mapping[str, str]]:
    for item in items:
        _, kind, name = item.identity
        yield {"kind": kind, "name": name, "outcome": item.outcome, **({"reason": item.reason} if item.reason else {})}


def _lost_rows(items: Iterable[ReleasedPod]) -> Iterator[Mapping[str, str]]:
    for item in items:
        outcome = "deleted" if item.is_deleted else "left"
        yield {"kind": "Pod", "name": item.pod, "outcome": outcome, "node": item.node, "reason": item.reason}


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)

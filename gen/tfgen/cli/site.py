"""``tfgen site``: write a static website about the jobs of a repository."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments, clusters_of
from tfgen.cli.output import check_jobs, jobs_argument, path, print_message, report
from tfgen.errors import UsageError, has_errors
from tfgen.words import count

if TYPE_CHECKING:
    from tfgen.check.checked import CheckedJobs
    from tfgen.site.facts import Site
    from tfgen.text.document import Document

_SUMMARY: Final = "write a static website about all jobs: requests, pictures, values and history"
_EXAMPLE: Final = "tfgen site --out public"


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser, default="the repository")
    parser.add_argument("-o", "--out", type=path, required=True, metavar="DIR", help="the folder for the website")
    parser.add_argument("--title", metavar="TEXT", help="the title of the website (default: the folder name)")
    parser.add_argument(
        "--nodes", type=_no_nodes, metavar="FILE", help="removed; use tfgen plan --nodes FILE --format json"
    )
    parser.add_argument("--live", action="store_true", help="add the state of each job in its cluster")
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.job.sources import output_root
    from tfgen.site.pages import INDEX, MARK, pages
    from tfgen.tree.folder import replace_folder

    if not args.live and (args.kubeconfig, args.context, args.namespace) != (None,) * 3:
        raise UsageError("--kubeconfig, --context and --namespace need --live")
    root = output_root(Path())
    jobs = check_jobs(args.jobs or [Path(os.path.relpath(root))])  # the pages show these paths
    site = _site(args, jobs, root)
    number = replace_folder(args.out, pages(site), INDEX, MARK)
    names = [*(job.name for job in site.jobs), *(job.name for job in site.broken)]
    if args.format == "json" or has_errors(jobs.problems):
        report(args, jobs.problems, written={"folder": str(args.out), "jobs": names, "files": number})
    if args.format != "json":
        print_message(f"{args.out / INDEX}: {count(len(names), 'job')}, {count(number, 'file')}")
    return PROBLEMS if has_errors(jobs.problems) else OK


def _no_nodes(file: str) -> NoReturn:
    raise ArgumentTypeError(f"the website has no page of nodes; run tfgen plan --nodes {file} --format json")


def _site(args: Namespace, jobs: CheckedJobs, root: Path) -> Site:
    from tfgen.site.facts import Site
    from tfgen.site.read_jobs import broken_jobs, read_jobs

    facts = read_jobs(jobs, root)
    site = Site(
        title=args.title or root.resolve().name,
        jobs=tuple(facts),
        broken=tuple(broken_jobs(jobs, [job.name for job in facts])),
    )
    return _with_states(args, site, jobs.valid_jobs) if args.live else site


def _with_states(args: Namespace, site: Site, documents: Sequence[Document]) -> Site:
    """Return the site with the states of the jobs in their clusters, and a note for each cluster without an answer."""
    from datetime import UTC, datetime

    from tfgen.commands.cluster.declared_runs import declared_runs
    from tfgen.live.api import ONCE
    from tfgen.site.live_states import read_live_states, with_states

    runs = [item.run for item in declared_runs(documents, None, in_all=True)]
    live = read_live_states(clusters_of(args, ONCE), runs)
    for note in live.notes:
        print_message(f"note: {note}")
    return site.replaced(
        jobs=tuple(with_states(site.jobs, live.states, runs)),
        notes=live.notes,
        live_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)

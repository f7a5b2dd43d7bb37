"""``tfgen site``: write a static website about the jobs of a repository."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn

from tfgen.cli.arguments import cluster_arguments, flag, jobs_argument, option, path
from tfgen.cli.output import OK, PROBLEMS, check_jobs, print_message, report
from tfgen.disk_file import repository_root
from tfgen.errors import UsageError, has_errors
from tfgen.git.tree import remote_address
from tfgen.job.sources import output_root
from tfgen.site.pages import INDEX, MARK, pages
from tfgen.site.read_jobs import Site, broken_jobs, read_jobs
from tfgen.text.document import Document
from tfgen.tree.folder import write_folder
from tfgen.words import command_line, count

EXAMPLE: Final = "tfgen site --out public"


def arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser, default="the repository")
    parser.add_argument("-o", "--out", type=path, required=True, metavar="DIR", help="the folder for the website")
    option(parser, "--title", "TEXT", "the title (default: the name of the repository)")
    option(parser, "--nodes", "FILE", "removed; use tfgen plan --nodes FILE --format json", _no_nodes)
    flag(parser, "--live", "add the state of each job in its cluster")
    cluster_arguments(parser)


def run(args: Namespace) -> int:
    if not args.live and (args.kubeconfig, args.context, args.namespace) != (None,) * 3:
        raise UsageError("--kubeconfig, --context and --namespace need --live")
    root = output_root(Path())
    jobs = check_jobs(args.jobs or [Path(os.path.relpath(root))])  # the pages show these paths
    facts = read_jobs(jobs, root)
    title = args.title
    if not title:
        # The last part of the URL of the remote `origin`; without this remote, the name of the root folder.
        address = remote_address(root).rstrip("/").removesuffix(".git")
        title = re.split("[/:]", address)[-1] or (repository_root(root) or root).resolve().name
    broken = tuple(broken_jobs(jobs, [job.name for job in facts]))
    site = Site(title=title, jobs=tuple(facts), broken=broken)
    site = _with_states(args, site, jobs.valid_jobs) if args.live else site
    number = write_folder(args.out, ((path, text.encode()) for path, text in pages(site)), mark=(INDEX, MARK))
    names = [*(job.name for job in site.jobs), *(job.name for job in site.broken)]
    if args.format == "json" or has_errors(jobs.problems):
        report(args, jobs.problems, written={"folder": str(args.out), "jobs": names, "files": number})
    if args.format != "json":
        print_message(f"{args.out / INDEX}: {count(len(names), 'job')}, {count(number, 'file')}")
    return PROBLEMS if has_errors(jobs.problems) else OK


def _no_nodes(file: str) -> NoReturn:
    command = command_line("plan", "--nodes", file, "--format", "json")
    raise ArgumentTypeError(f"the website has no page of nodes; run {command}")


def _with_states(args: Namespace, site: Site, documents: Sequence[Document]) -> Site:
    """Return the site with the states of the jobs in their clusters, and a note for each cluster without an answer."""
    from tfgen.cli.live import clusters_of  # takes 100 ms, which only --live needs
    from tfgen.live.api import ONCE  # 50 ms
    from tfgen.live.run import declared_runs  # 30 ms
    from tfgen.site.live_states import with_live_states  # 10 ms

    runs = [item.run for item in declared_runs(documents, None, in_all=True)]
    jobs, notes = with_live_states(clusters_of(args, ONCE), site.jobs, runs)
    for note in notes:
        print_message(f"note: {note}")
    return site.replaced(jobs=tuple(jobs), notes=notes, live_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")

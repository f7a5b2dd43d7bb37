"""What `tfgen check` looks at: of jobs that are as they were, what is known; of all others, everything.

    check_paths([Path("jobs")], against="HEAD", out=Path("."))      ->  Report(problems=..., notes=..., ...)

Last come the jobs that are no more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from tfgen.change.committed import find_committed
from tfgen.change.committed_jobs import committed_jobs
from tfgen.check.checked import Checked
from tfgen.check.manifests import Manifest, read_foreign_manifests
from tfgen.commands.pipeline.cached_files import KnownFile
from tfgen.commands.pipeline.check_files import JudgedFiles, judge_files
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.find_cached import find_known
from tfgen.commands.pipeline.loosened_rails import find_loosened_rails
from tfgen.commands.pipeline.orphans import find_orphans
from tfgen.commands.pipeline.track import Track, untracked
from tfgen.git import read as git
from tfgen.job.output_root import output_root_of
from tfgen.job.sources import STDIN, Source, no_job_below, read_sources
from tfgen.places import OVERLAYS
from tfgen.problems import Problem, in_order
from tfgen.tree.ledger import ledger_path
from tfgen.tree.spool import Spool
from tfgen.tree.unlisted import unlisted_files
from tfgen.tree.write import read_ledgers

if TYPE_CHECKING:
    from tfgen.text.document import Document


def check_paths(
    paths: Sequence[Path],
    *,
    against: str,
    out: Path | None = None,
    is_written: bool = False,
    is_quick: bool = False,
    is_verified: bool = False,
    kubernetes_version: str | None = None,
    track: Track = untracked,
) -> Report:
    """Check the jobs in some files and folders: those of which nothing has changed by what is known of them.

    Args:
        paths: the files and folders; "-" for standard input.
        against: the revision that is compared with.
        out: the output folder; by default where the files of the jobs are.
        is_written: whether the files are about to be written anyway, so that those on disk are no matter.
        is_quick: whether a job is passed over, but for its own problems, where it is as it is committed.
        is_verified: whether each job is rendered, and must be as this tfgen renders it, whatever is known or committed.
        kubernetes_version: whose schemas the objects are held against; none where it is None.
        track: what is told of each file.

    Raises:
        UsageError: a path cannot be read, no output folder follows from them, there is no such revision, or no schemas
            of that version; or no job in the paths, nor one gone.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    sources = read_sources(paths, may_be_none=True, takes_stdin=True)
    if kubernetes_version is not None:
        from tfgen.check.object_schemas import ObjectSchemas  # 20 ms, which a check without it need not pay

        ObjectSchemas(kubernetes_version)  # so that an error is raised before all the work
    is_beside = out is None
    out = out or output_root_of(paths, (source.file for source in sources))
    keeps = not (STDIN in paths or is_written or is_verified or kubernetes_version is not None)
    is_stdin = [*paths] == [STDIN]
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out)) if sources else ())
    if not is_stdin:  # a job in it may have errors, and then needs none
        find_manifests()  # once, and not in each process
    known = _find_known(sources, out, against, find_manifests(), is_quick=is_quick) if keeps else {}
    find_unchanged = cache(partial(_unchanged_jobs, sources, out, against)) if is_quick else None
    scope = CheckScope(find_manifests, kubernetes_version, find_unchanged, kept_for=out if keeps else None)
    with Spool(out) as spool:
        judged = judge_files(sources, known, spool, scope, track)
        checked = judged.checked
        if sources and all(file.is_cached for file in checked.files):
            report = Report(checked.problems, (), 0, ())
        else:
            from tfgen.commands.pipeline.full_check import full_check  # 80 ms, which files that are known need not pay

            is_written = is_written or is_stdin  # what is on disk did not come of it
            report = full_check(judged, spool, against=against, out=out, is_written=is_written, is_verified=is_verified)
    orphans = () if is_stdin else tuple(find_orphans(checked, paths, out, read_ledgers(out)))
    if not (is_stdin or is_written) and (is_verified or against != git.HEAD):
        branches = _branches(judged) if is_beside else {}
        orphans += _strange_ledgers(checked, orphans, out, branches, "" if is_verified else against)
    if not (is_stdin or is_written):
        orphans += _unlisted(out, against)
    if not (sources or orphans):
        raise no_job_below(paths)
    loosened = () if is_stdin else find_loosened_rails(paths, sources, against)
    report = _with_known(report, checked, known, is_quick=is_quick)
    return report.replaced(problems=in_order((*report.problems, *orphans, *loosened)), jobs=())  # the spool is closed


def _branches(judged: JudgedFiles) -> dict[str, str]:
    """Return the branches of jobs whose files are kept in another branch, by job."""
    jobs = (job for file in judged.rendered.values() for job in file.jobs)
    return {job.name: job.branch for job in jobs if job.branch}


def _strange_ledgers(
    checked: Checked, orphans: Sequence[Problem], out: Path, branches: Mapping[str, str], against: str
) -> tuple[Problem, ...]:
    """Return the problems of ledgers that no checked job accounts for; of all, where there is no base."""
    ledgers = read_ledgers(out)
    names = {name for file in checked.files for name in file.result.names}
    reported = {problem.file for problem in orphans}
    ledgers_of_no_job = {
        job
        for job in ledgers
        if (job not in names or job in branches) and os.path.relpath(out / ledger_path(job)) not in reported
    }
    if ledgers_of_no_job and against:
        ledgers_of_no_job -= committed_jobs(out, against)(ledgers)
    if not ledgers_of_no_job:
        return ()
    from tfgen.commands.pipeline.strange_ledgers import find_strange_ledgers  # 20 ms, which only such a ledger costs

    differs = f"its files differ from {against}" if against else "it has files here"
    return tuple(find_strange_ledgers(out, ledgers_of_no_job, names, branches, differs))


def _unlisted(out: Path, against: str) -> tuple[Problem, ...]:
    """Return the problems of files that no ledger lists."""
    ledgers = read_ledgers(out)
    files = unlisted_files(out, ledgers)
    if not files:
        return ()
    from tfgen.commands.pipeline.unlisted_files import judge_unlisted  # 20 ms, which only an unlisted file costs

    return tuple(judge_unlisted(out, files, ledgers, against))


def _find_known(
    sources: Sequence[Source], out: Path, against: str, manifests: Sequence[Manifest], *, is_quick: bool
) -> dict[str, KnownFile]:
    """The files of which nothing has changed since they were committed, either.

    What is rendered beside the overlays counts where it is quick: of a job that differs in that more is said.
    """
    known = find_known(sources, out, manifests)
    if known:
        committed = find_committed([source for source in sources if source.file in known], against)
        touched = {path.partition("/")[0] for path in git.changed(out / OVERLAYS, against)}
        known = {name: file for name, file in known.items() if name in committed and touched.isdisjoint(file.ledgers)}
    if known and is_quick:
        committed_now = committed_jobs(out, against)(read_ledgers(out))
        known = {name: file for name, file in known.items() if file.ledgers.keys() <= committed_now}
    return known


def _unchanged_jobs(sources: Sequence[Source], out: Path, against: str) -> Callable[[Document], bool]:
    from tfgen.commands.pipeline.unchanged_jobs import unchanged_jobs  # 20 ms, which only a check of what changed pays

    return unchanged_jobs(sources, out, against)


def _with_known(report: Report, checked: Checked, known: Mapping[str, KnownFile], *, is_quick: bool) -> Report:
    """The report on the jobs that were read, and on those that were not."""
    unchanged = [known[file.source.file] for file in checked.whole_files if file.is_cached]
    of_objects = (problem for file in unchanged for problem in (*file.of_objects, *file.unused))
    return report.replaced(
        problems=(*report.problems, *(() if is_quick else of_objects)),
        compared=report.compared + sum(len(file.ledgers) for file in unchanged),
    )

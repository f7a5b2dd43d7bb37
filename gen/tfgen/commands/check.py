"""`tfgen check`: the problems of jobs, of their objects, of their rendered files and of removed jobs.

    check_paths([Path("jobs")], against="HEAD", out=Path("."))      ->  Report(problems=..., notes=..., ...)

Unchanged jobs use cached results. Changed jobs are fully checked.
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
from tfgen.commands.pipeline.cached_files import CachedFile
from tfgen.commands.pipeline.check_files import FileResults, check_files
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.find_cached import find_cached
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
    """Check the jobs in files and folders.

    Args:
        paths: the files and folders; "-" for standard input.
        against: the revision to compare with.
        out: the output folder; by default the folder that contains the files of the jobs.
        is_written: whether the files are about to be written, so that the files on disk are not compared.
        is_quick: whether a job that equals its committed version is checked alone and not rendered.
        is_verified: whether each job is rendered and must be as this tfgen renders it, without the cache.
        kubernetes_version: the version whose schemas the objects are validated against; None for no validation.
        track: reports the progress.

    Raises:
        UsageError: a path cannot be read, the output folder is ambiguous, the revision or the schemas of that version
            do not exist, or the paths contain neither a job nor the files of a removed job.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    sources = read_sources(paths, may_be_none=True, takes_stdin=True)
    if kubernetes_version is not None:
        from tfgen.check.object_schemas import ObjectSchemas  # 20 ms, which a check without schemas saves

        ObjectSchemas(kubernetes_version)  # raises an error for an unknown version before all the work
    is_beside = out is None
    out = out or output_root_of(paths, (source.file for source in sources))
    uses_cache = not (STDIN in paths or is_written or is_verified or kubernetes_version is not None)
    is_stdin = [*paths] == [STDIN]
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out)) if sources else ())
    if not is_stdin:  # a job from standard input may have errors, and then needs no manifests
        find_manifests()  # once, and not in each process
    cached = _find_unchanged(sources, out, against, find_manifests(), is_quick=is_quick) if uses_cache else {}
    find_unchanged = cache(partial(_unchanged_jobs, sources, out, against)) if is_quick else None
    scope = CheckScope(find_manifests, kubernetes_version, find_unchanged, kept_for=out if uses_cache else None)
    is_written = is_written or is_stdin  # the files on disk were not rendered from standard input
    with Spool(out) as spool:
        results = check_files(sources, cached, spool, scope, track)
        checked = results.checked
        if sources and all(file.is_cached for file in checked.files):
            report = Report(checked.problems, (), 0, ())
        else:
            from tfgen.commands.pipeline.full_check import full_check  # 80 ms, which cached files save

            report = full_check(
                results, spool, against=against, out=out, is_written=is_written, is_verified=is_verified
            )
    problems = () if is_stdin else tuple(find_orphans(checked, paths, out, read_ledgers(out)))
    if not is_written:
        branches = _branches(results) if is_beside else {}
        problems += _strange_ledgers(checked, problems, out, branches, against, is_verified=is_verified)
        problems += _unlisted(out, against)
    if not (sources or problems):
        raise no_job_below(paths)
    loosened = () if is_stdin else find_loosened_rails(paths, sources, against)
    report = _with_cached(report, checked, cached, is_quick=is_quick)
    return report.replaced(problems=in_order((*report.problems, *problems, *loosened)), jobs=())  # the spool is closed


def _branches(results: FileResults) -> dict[str, str]:
    """Return the branches of jobs whose rendered files are in another branch, by job."""
    jobs = (job for file in results.rendered.values() for job in file.jobs)
    return {job.name: job.branch for job in jobs if job.branch}


def _strange_ledgers(
    checked: Checked,
    orphans: Sequence[Problem],
    out: Path,
    branches: Mapping[str, str],
    against: str,
    *,
    is_verified: bool,
) -> tuple[Problem, ...]:
    """Return the problems of ledgers that belong to no checked job.

    A check against HEAD does not look for such ledgers. A check with `is_verified` also reports committed ledgers.
    """
    if against == git.HEAD and not is_verified:
        return ()
    ledgers = read_ledgers(out)
    names = {name for file in checked.files for name in file.result.names}
    reported = {problem.file for problem in orphans}
    ledgers_of_no_job = {
        job
        for job in ledgers
        if (job not in names or job in branches) and os.path.relpath(out / ledger_path(job)) not in reported
    }
    if ledgers_of_no_job and not is_verified:
        ledgers_of_no_job -= committed_jobs(out, against)(ledgers)
    if not ledgers_of_no_job:
        return ()
    from tfgen.commands.pipeline.strange_ledgers import find_strange_ledgers  # 20 ms, which only such a ledger costs

    differs = "it has files here" if is_verified else f"its files differ from {against}"
    return tuple(find_strange_ledgers(out, ledgers_of_no_job, names, branches, differs))


def _unlisted(out: Path, against: str) -> tuple[Problem, ...]:
    """Return the problems of files that no ledger lists."""
    ledgers = read_ledgers(out)
    files = unlisted_files(out, ledgers)
    if not files:
        return ()
    from tfgen.commands.pipeline.unlisted_files import judge_unlisted  # 20 ms, which only an unlisted file costs

    return tuple(judge_unlisted(out, files, ledgers, against))


def _find_unchanged(
    sources: Sequence[Source], out: Path, against: str, manifests: Sequence[Manifest], *, is_quick: bool
) -> dict[str, CachedFile]:
    """Return the cached results of the files that equal their committed versions, by name.

    The overlays of their jobs must be unchanged, too. A quick check skips the comparison of rendered files, so that all
    rendered files must be unchanged.
    """
    cached = find_cached(sources, out, manifests)
    if cached:
        committed = find_committed([source for source in sources if source.file in cached], against)
        touched = {path.partition("/")[0] for path in git.changed(out / OVERLAYS, against)}
        cached = {name: file for name, file in cached.items() if name in committed and touched.isdisjoint(file.ledgers)}
    if cached and is_quick:
        committed_now = committed_jobs(out, against)(read_ledgers(out))
        cached = {name: file for name, file in cached.items() if file.ledgers.keys() <= committed_now}
    return cached


def _unchanged_jobs(sources: Sequence[Source], out: Path, against: str) -> Callable[[Document], bool]:
    from tfgen.commands.pipeline.unchanged_jobs import unchanged_jobs  # 20 ms, which only check --changed costs

    return unchanged_jobs(sources, out, against)


def _with_cached(report: Report, checked: Checked, cached: Mapping[str, CachedFile], *, is_quick: bool) -> Report:
    """Return the report on the files that were read, extended by the cached files."""
    unchanged = [cached[file.source.file] for file in checked.whole_files if file.is_cached]
    of_objects = (problem for file in unchanged for problem in (*file.of_objects, *file.unused))
    return report.replaced(
        problems=(*report.problems, *(() if is_quick else of_objects)),
        compared=report.compared + sum(len(file.ledgers) for file in unchanged),
    )

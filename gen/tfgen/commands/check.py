"""`tfgen check`: check jobs, the objects and rendered files of the jobs, and the files that removed jobs left behind.

Unchanged jobs use cached results. Changed jobs are fully checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from tfgen.change.committed import find_committed
from tfgen.change.committed_jobs import FindNames, changed_files, committed_jobs, jobs_with_changed_overlays
from tfgen.check.cached_files import CachedFile
from tfgen.check.checked import Checked
from tfgen.check.manifests import Manifest, read_foreign_manifests
from tfgen.commands.pipeline.check_files import FileResults, check_files
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.find_cached import find_cached
from tfgen.commands.pipeline.loosened_rails import find_loosened_rails
from tfgen.commands.pipeline.orphans import find_orphans
from tfgen.commands.pipeline.removed_jobs import last_job_files
from tfgen.commands.pipeline.track import Track, untracked
from tfgen.git import read as git
from tfgen.job.output_root import output_root_of
from tfgen.job.sources import STDIN, Source, no_job_below, read_sources
from tfgen.problems import Problem, in_order
from tfgen.record import Record
from tfgen.tree.ledger import ledger_path
from tfgen.tree.spool import Spool
from tfgen.tree.unlisted import unlisted_files
from tfgen.tree.write import read_ledgers

if TYPE_CHECKING:
    from tfgen.text.document import Document


class CheckOptions(Record):
    """The options of `tfgen check`.

    Attributes:
        against: the git revision to compare with.
        out: the output folder; None for the default folder of the jobs.
        skips_files: whether to skip the comparison with the rendered files on disk.
        is_quick: whether to skip the render of jobs that equal their committed versions.
        is_verified: whether to render each job without the cache, and to compare the result with the files on disk.
        kubernetes_version: the Kubernetes version whose schemas the objects are validated against; None for no
            validation.
    """

    against: str
    out: Path | None = None
    skips_files: bool = False
    is_quick: bool = False
    is_verified: bool = False
    kubernetes_version: str | None = None


def check_paths(paths: Sequence[Path], options: CheckOptions, track: Track = untracked) -> Report:
    """Check the jobs in files and folders.

    Args:
        paths: the files and folders; "-" for standard input.
        options: the options.
        track: reports the progress.

    Raises:
        UsageError: a path cannot be read, the output folder is ambiguous, the revision or the Kubernetes version does
            not exist, or the paths contain neither a job nor the files of a removed job, and never contained a job.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    sources = read_sources(paths, may_be_none=True, takes_stdin=True)
    _check_version(options.kubernetes_version)
    out = options.out or output_root_of(paths, (source.file for source in sources))
    is_stdin = [*paths] == [STDIN]
    if is_stdin:  # the files on disk were not rendered from standard input
        options = options.replaced(skips_files=True)
    uses_cache = not (STDIN in paths or options.skips_files or options.is_verified or options.kubernetes_version)
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out)) if sources else ())
    if not is_stdin:  # a job from standard input may have errors, and then needs no manifests
        find_manifests()  # fill the cache here, so that the processes of check_files inherit the cache
    find_changed = changed_files(out, options.against)
    cached = _find_unchanged(sources, out, find_manifests(), options, find_changed) if uses_cache else {}
    make_unchanged_test = cache(partial(_unchanged_jobs, sources, out, options.against)) if options.is_quick else None
    scope = CheckScope(
        find_manifests,
        options.kubernetes_version,
        make_unchanged_test,
        cache_out=out if uses_cache else None,
        find_changed=find_changed,
    )
    with Spool(out) as spool:
        results = check_files(sources, cached, spool, scope, track)
        report = _check_changed(results, spool, out, options)
    removed = [] if sources or is_stdin else last_job_files(paths)
    problems = () if is_stdin else tuple(find_orphans(results.checked, paths, out, read_ledgers(out), removed))
    if not options.skips_files:
        problems += _unmatched_ledgers(results, problems, out, options)
        problems += _unlisted(out, options.against)
    if not (sources or problems or removed):
        raise no_job_below(paths)
    loosened = () if is_stdin else find_loosened_rails(paths, sources, options.against)
    report = _with_cached(report, results.checked, cached, is_quick=options.is_quick)
    # The spool is closed, so the rendered files of `jobs` can no longer be read.
    return report.replaced(problems=in_order((*report.problems, *problems, *loosened)), jobs=())


def _check_version(kubernetes_version: str | None) -> None:
    """Raise UsageError if no schemas exist for a Kubernetes version, before the slow check of the jobs."""
    if kubernetes_version is not None:
        from tfgen.check.object_schemas import ObjectSchemas  # the import takes 20 ms, which most checks save

        ObjectSchemas(kubernetes_version)


def _check_changed(results: FileResults, spool: Spool, out: Path, options: CheckOptions) -> Report:
    """Check the objects and the rendered files of the jobs without cached results, and return the report."""
    checked = results.checked
    if checked.files and all(file.is_cached for file in checked.files):
        return Report(checked.problems, (), 0, ())
    from tfgen.commands.pipeline.full_check import full_check  # takes 80 ms, which cached files do not need

    return full_check(
        results,
        spool,
        against=options.against,
        out=out,
        is_written=options.skips_files,
        is_verified=options.is_verified,
    )


def _branches(results: FileResults) -> dict[str, str]:
    """Return the branch for the rendered files of each job with `gitops.rendered`, by the name of the job."""
    jobs = (job for file in results.rendered.values() for job in file.jobs)
    return {job.name: job.branch for job in jobs if job.branch}


def _unmatched_ledgers(
    results: FileResults, orphans: Sequence[Problem], out: Path, options: CheckOptions
) -> tuple[Problem, ...]:
    """Return a problem for each ledger that does not belong in the output folder.

    Such a ledger is about a job that is in no checked file, or about a job whose rendered files have a separate branch.

    With `is_verified`, the function reports all such ledgers. Without `is_verified`, the function reports such a ledger
    only if the files of the job have changed since the revision `options.against`. For the revision HEAD without
    `is_verified`, the result is empty.

    Args:
        results: the results of `check_files`.
        orphans: the problems about removed jobs. A ledger with such a problem gets no second problem.
        out: the output folder.
        options: the options of the check.
    """
    if options.against == git.HEAD and not options.is_verified:
        return ()
    branches = _branches(results) if options.out is None else {}
    ledgers = read_ledgers(out)
    names = {name for file in results.checked.files for name in file.result.names}
    reported = {problem.file for problem in orphans}
    unmatched = {
        job
        for job in ledgers
        if (job not in names or job in branches) and os.path.relpath(out / ledger_path(job)) not in reported
    }
    if unmatched and not options.is_verified:
        unmatched -= committed_jobs(out, options.against)(ledgers)
    if not unmatched:
        return ()
    from tfgen.commands.pipeline.unmatched_ledgers import find_unmatched_ledgers  # 20 ms, which few checks need

    reason = (
        "this ledger lists rendered files of the job"
        if options.is_verified
        else f"the files that the ledger lists differ from {options.against}"
    )
    return tuple(find_unmatched_ledgers(out, unmatched, names, branches, reason))


def _unlisted(out: Path, against: str) -> tuple[Problem, ...]:
    """Return a problem for each file in charts/ or overlays/ that no ledger lists and that tfgen.yaml does not allow.

    The function reads the root tfgen.yaml of the revision `against`.
    """
    ledgers = read_ledgers(out)
    files = unlisted_files(out, ledgers)
    if not files:
        return ()
    from tfgen.commands.pipeline.unlisted_files import report_unlisted  # takes 20 ms, which few checks need

    return tuple(report_unlisted(out, files, ledgers, against))


def _find_unchanged(
    sources: Sequence[Source],
    out: Path,
    manifests: Sequence[Manifest],
    options: CheckOptions,
    find_changed: FindNames,
) -> dict[str, CachedFile]:
    """Return the cached results of the job files that need no new check, by the name of the job file.

    Such a job file, its tfgen.yaml files and the overlays of its jobs are the same as in the revision
    `options.against`. In a quick check (`is_quick`), the charts and the ledgers of its jobs are the same as well.
    """
    cached = find_cached(sources, out, manifests)
    if cached:
        committed = find_committed([source for source in sources if source.file in cached], options.against)
        changed_jobs = jobs_with_changed_overlays(find_changed())
        cached = {
            name: file for name, file in cached.items() if name in committed and changed_jobs.isdisjoint(file.ledgers)
        }
    if cached and options.is_quick:
        unchanged = committed_jobs(out, options.against, find_changed)(read_ledgers(out))
        cached = {name: file for name, file in cached.items() if file.ledgers.keys() <= unchanged}
    return cached


def _unchanged_jobs(sources: Sequence[Source], out: Path, against: str) -> Callable[[Document], bool]:
    from tfgen.commands.pipeline.unchanged_jobs import unchanged_jobs  # takes 20 ms, which only check --changed needs

    return unchanged_jobs(sources, out, against)


def _with_cached(report: Report, checked: Checked, cached: Mapping[str, CachedFile], *, is_quick: bool) -> Report:
    """Add the number of unchanged jobs, and the cached problems of their files, to a copy of `report`.

    `report` is about the changed job files. A quick check (`is_quick`) adds no cached problems.
    """
    unchanged = [cached[file.source.file] for file in checked.valid_files if file.is_cached]
    problems = (problem for file in unchanged for problem in (*file.object_problems, *file.unused))
    return report.replaced(
        problems=(*report.problems, *(() if is_quick else problems)),
        compared=report.compared + sum(len(file.ledgers) for file in unchanged),
    )

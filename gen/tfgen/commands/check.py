"""`tfgen check`: check jobs, the objects and rendered files of the jobs, and the files that removed jobs left behind.

Unchanged jobs use cached results. Changed jobs are fully checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from tfgen.change.committed import changed_files, committed_jobs, find_committed, jobs_with_changed_overlays
from tfgen.check.cached_files import CachedFile
from tfgen.check.checked import Checked
from tfgen.check.manifests import read_foreign_manifests
from tfgen.check.repository import Checkout, check_repository, read_checkout
from tfgen.commands.pipeline.check_files import FileResults, check_files
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.find_cached import find_cached
from tfgen.commands.pipeline.loosened_rails import find_loosened_rails
from tfgen.commands.pipeline.orphans import find_orphans
from tfgen.commands.pipeline.removed_jobs import last_job_files
from tfgen.commands.pipeline.track import Track, untracked
from tfgen.disk_file import repository_root
from tfgen.errors import Problem, in_order
from tfgen.git.tree import DISK, HEAD, CommitTree, IndexTree, Kind, Tree, is_clean
from tfgen.job.facts import name_of
from tfgen.job.sources import STDIN, Source, no_job_below, output_root_of, read_sources
from tfgen.places import GITHUB_WORKFLOW, GITLAB_PIPELINE
from tfgen.record import Record
from tfgen.tree.ledger import ledger_path, unlisted_files
from tfgen.tree.staging import Staging
from tfgen.tree.write import read_ledgers

if TYPE_CHECKING:
    from tfgen.text.document import Document


class CheckOptions(Record):
    """The options of `tfgen check`.

    Attributes:
        against: the git revision to compare with.
        version: the version of the files to check: disk, index or commit; empty to choose the version (`_tree_of`).
        out: the output folder; None for the default folder of the jobs.
        skips_files: whether to skip the comparison with the rendered files on disk.
        is_quick: whether to skip the render of jobs that equal their committed versions.
        is_verified: whether to render each job without the cache, and to compare the result with the files on disk.
        kubernetes_version: the Kubernetes version whose schemas the objects are validated against; None for no
            validation.
    """

    against: str
    version: str = ""
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
    tree = _tree_of(paths, options)
    sources = read_sources(paths, tree, may_be_none=True, takes_stdin=True)
    _check_version(options.kubernetes_version)
    out = options.out or output_root_of(paths, (source.file for source in sources), tree)
    is_stdin = [*paths] == [STDIN]
    if is_stdin:  # the files on disk were not rendered from standard input
        options = options.replaced(skips_files=True)
    uses_cache = not (STDIN in paths or options.skips_files or options.is_verified or options.kubernetes_version)
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out, tree), tree) if sources else ())
    if not is_stdin:  # a job from standard input may have errors, and then needs no manifests
        find_manifests()  # fill the cache here, so that the processes of check_files inherit the cache
    scope = CheckScope(
        tree,
        find_manifests,
        options.kubernetes_version,
        cache(partial(_unchanged_jobs, sources, out, tree, options.against)) if options.is_quick else None,
        cache_out=out if uses_cache else None,
        find_changed=changed_files(out, options.against, tree),
    )
    cached = _find_unchanged(sources, out, scope, options) if uses_cache else {}
    with Staging(out, is_inside=False) as staging:
        results = check_files(sources, cached, staging, scope, track)
        report = _check_changed(results, staging, out, options)
    removed = [] if sources or is_stdin else last_job_files(paths)
    problems: tuple[Problem, ...] = ()
    if not is_stdin:
        problems += tuple(find_orphans(results.checked, paths, out, read_ledgers(out, tree), removed, tree))
    if not options.skips_files:
        problems += _unmatched_ledgers(results, problems, out, options)
        checkout = read_checkout(tree, out, paths, sources)
        problems += (*check_repository(checkout, options.against), *_unlisted(checkout, options.against))
    if not (sources or problems or removed):
        raise no_job_below(paths, tree)
    loosened = () if is_stdin else find_loosened_rails(paths, sources, options.against, tree)
    installations = () if is_stdin else _example_installations(out)
    report = _with_cached(report, results.checked, cached, is_quick=options.is_quick)
    if options.is_verified and options.out is None and _branches(results):
        from tfgen.commands.git.rendered import verify_rendered  # takes 60 ms, which only check --verify needs

        found, notes = verify_rendered(out, results.checked)
        report = report.replaced(problems=(*report.problems, *found), notes=(*report.notes, *notes))
    # The staging folder is removed, so the rendered files of `jobs` can no longer be read.
    problems = in_order((*report.problems, *problems, *loosened, *installations))
    return report.replaced(problems=problems, jobs=(), version=tree.title)


def _tree_of(paths: Sequence[Path], options: CheckOptions) -> Tree:
    """Return the version of the files that the options select.

    Without a selection, a check as in CI, with `--verify` or against a revision other than HEAD, reads the last commit
    if the files on disk equal the last commit. So the check reads the files that GitOps tools read, and not the files
    that a filter of git wrote.
    """
    versions: dict[str, Tree] = {"disk": DISK, "index": IndexTree(), "commit": CommitTree()}
    if options.version:
        return versions[options.version]
    reads_commit = (options.is_verified or options.against != HEAD) and STDIN not in paths
    places = {path if path.is_dir() else path.parent for path in paths}
    return CommitTree() if reads_commit and all(map(is_clean, places)) else DISK


def _example_installations(out: Path) -> tuple[Problem, ...]:
    """Return a problem for each line of the repository's workflows that installs tfgen from an example host."""
    root = repository_root(out)
    workflows = [root / path for path in (GITHUB_WORKFLOW, GITLAB_PIPELINE)] if root is not None else []
    texts = [(path, path.read_text(encoding="utf-8", errors="replace")) for path in workflows if path.is_file()]
    with_tfgen = [(os.path.relpath(path), text) for path, text in texts if "example" in text]
    if not with_tfgen:
        return ()
    from tfgen.rules.images import example_installations  # takes 20 ms, which few checks need

    return tuple(problem for file, text in with_tfgen for problem in example_installations(file, text))


def _check_version(kubernetes_version: str | None) -> None:
    """Raise UsageError if no schemas exist for a Kubernetes version, before the slow check of the jobs."""
    if kubernetes_version is not None:
        from tfgen.check.object_schemas import ObjectSchemas  # the import takes 20 ms, which most checks save

        ObjectSchemas(kubernetes_version)


def _check_changed(results: FileResults, staging: Staging, out: Path, options: CheckOptions) -> Report:
    """Check the objects and the rendered files of the jobs without cached results, and return the report."""
    checked = results.checked
    if checked.files and all(file.is_cached for file in checked.files):
        return Report(checked.problems, (), 0, ())
    from tfgen.commands.pipeline.full_check import full_check  # takes 80 ms, which cached files do not need

    return full_check(
        results,
        staging,
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
    if options.against == HEAD and not options.is_verified:
        return ()
    branches = _branches(results) if options.out is None else {}
    tree = results.scope.tree
    ledgers = read_ledgers(out, tree)
    names = {name for file in results.checked.files for name in file.result.names}
    reported = {problem.file for problem in orphans}
    unmatched = {
        job
        for job in ledgers
        if (job not in names or job in branches) and os.path.relpath(out / ledger_path(job)) not in reported
    }
    if unmatched and not options.is_verified:
        unmatched -= committed_jobs(out, options.against, tree=tree)(ledgers)
    if not unmatched:
        return ()
    from tfgen.commands.pipeline.unmatched_ledgers import find_unmatched_ledgers  # 20 ms, which few checks need

    reason = (
        "this ledger lists rendered files of the job"
        if options.is_verified
        else f"the files that the ledger lists differ from {options.against}"
    )
    return tuple(find_unmatched_ledgers(out, tree, unmatched, names, branches, reason))


def _unlisted(checkout: Checkout, against: str) -> tuple[Problem, ...]:
    """Return a problem for each file in charts/ or overlays/ that no ledger lists and that tfgen.yaml does not allow.

    The function reads the root tfgen.yaml of the revision `against`.
    """
    paths = (path for path, kind in checkout.rendered.items() if kind is Kind.FILE)
    files = unlisted_files(paths, checkout.ledgers)
    if not files:
        return ()
    from tfgen.commands.pipeline.unlisted_files import report_unlisted  # takes 20 ms, which few checks need

    return tuple(report_unlisted(checkout.out, files, checkout.ledgers, against))


def _find_unchanged(
    sources: Sequence[Source], out: Path, scope: CheckScope, options: CheckOptions
) -> dict[str, CachedFile]:
    """Return the cached results of the job files that need no new check, by the name of the job file.

    Such a job file, its tfgen.yaml files and the overlays of its jobs are the same as in the revision
    `options.against`. In a quick check (`is_quick`), the charts and the ledgers of its jobs are the same as well.
    """
    cached = find_cached(sources, out, scope.find_manifests(), scope.tree)
    find_changed = scope.find_changed or changed_files(out, options.against, scope.tree)
    if cached:
        committed = find_committed([source for source in sources if source.file in cached], options.against)
        changed_jobs = jobs_with_changed_overlays(find_changed())
        cached = {
            name: file for name, file in cached.items() if name in committed and changed_jobs.isdisjoint(file.ledgers)
        }
    if cached and options.is_quick:
        unchanged = committed_jobs(out, options.against, find_changed)(read_ledgers(out, scope.tree))
        cached = {name: file for name, file in cached.items() if file.ledgers.keys() <= unchanged}
    return cached


def _unchanged_jobs(sources: Sequence[Source], out: Path, tree: Tree, against: str) -> Callable[[Document], bool]:
    """Return a function that tests whether a job is unchanged since a revision.

    A job is unchanged if its job file, its defaults and its rendered files are the same as in the revision.
    """
    committed = find_committed(sources, against)
    committed_names = committed_jobs(out, against, tree=tree)(read_ledgers(out, tree))

    def is_unchanged(document: Document) -> bool:
        return document.file in committed and name_of(document) in committed_names

    return is_unchanged


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

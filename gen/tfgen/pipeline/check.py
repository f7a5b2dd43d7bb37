"""Fully check changed jobs, for `tfgen check` and `tfgen commit`.

The check covers each job, its objects, its rendered files and the differences from its committed version. A job with
errors is not rendered, because its objects and files would repeat the errors.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.change.committed import FindNames, changed_files, committed_jobs
from tfgen.change.comparison import Pair, PairPlaces, compare
from tfgen.change.job_diff import JobDiff, claim_users, diff_job
from tfgen.change.rerendered import compare_overlays, present_overlays
from tfgen.check.checked import CachedFile, CheckedFile, read_cached_files
from tfgen.check.files import NOT_REPRODUCED, Base, FileComparison, compare_files
from tfgen.check.objects import check_guard_rails
from tfgen.check.source import report_unused, set_severities
from tfgen.errors import Position, Problem, TfgenError, in_order
from tfgen.git.tree import DISK, HEAD, CommitTree, Tree, has_commit, ignored
from tfgen.graph.graph import build
from tfgen.job.facts import command_for, name_of
from tfgen.job.sources import FILE, Source, read_documents
from tfgen.kubernetes.object import identity
from tfgen.pipeline.read import ORPHAN, FileResults, Report, find_job_at, find_job_files, versions_of_job
from tfgen.pipeline.render import RenderedFile, find_sums, render_files
from tfgen.places import CHARTS, OVERLAYS, TOOLS
from tfgen.rails.limits import JobUse, has_limited_sums, uses
from tfgen.schema import validate as schema
from tfgen.targets.kustomize.overlays import build_objects, has_overlay
from tfgen.text.document import Document
from tfgen.text.parse import decode, parse
from tfgen.tree.ledger import ledger_path
from tfgen.tree.plan import FileAction, WritePlan, WriteRequest
from tfgen.tree.staging import Staging
from tfgen.tree.write import plan_write
from tfgen.words import command_line, count
from tfgen.workers import map_items

_GUARD_RAILS: Final = ("limits", "enforce")
"""The keys of a tfgen.yaml whose guard rails apply to objects."""


class _CommittedObjects(NamedTuple):
    """The result of the check of the committed objects of a job.

    Attributes:
        problems: a problem for each guard rail that a committed object breaks.
        uses: the resources that the committed objects request, if a tfgen.yaml of the job limits the sum of several
            jobs.
        note: the reason why the overlays could not be read; empty without such a reason.
    """

    problems: tuple[Problem, ...] = ()
    uses: tuple[JobUse, ...] = ()
    note: str = ""


def _check_committed(
    results: FileResults, plan: WritePlan, files: Iterable[tuple[CheckedFile, RenderedFile]], names: Collection[str]
) -> Iterator[tuple[str, _CommittedObjects]]:
    """Yield the job file and the result of the check of the committed objects, for each job in `names`.

    The result has only the jobs whose tfgen.yaml files set guard rails for objects.
    """
    sources = [file.source for file, result in files if any(job.name in names for job in result.jobs)]
    layers = results.checker.read_defaults(sources)
    is_guarded = {
        defaults.file: any(layer.data.get(key) for layer in defaults.layers() for key in _GUARD_RAILS)
        for defaults in layers
    }
    for source in sources:
        if source.defaults and is_guarded.get(source.defaults.file):
            documents = [document for document in read_documents(source) if name_of(document) in names]
            for result in map_items(partial(_check_overlays, plan), documents):
                yield source.file, result


def _check_overlays(plan: WritePlan, document: Document) -> _CommittedObjects:
    """Check the committed overlays of a job against the guard rails in its tfgen.yaml files."""
    name = name_of(document)
    try:
        files = present_overlays(plan.out, plan.request.tree, name, plan.ledgers[name])
        if not files or not has_overlay(files, None):
            return _CommittedObjects()
        fresh = build(document.data)
        committed = {
            environment: {" ".join(identity(item)): item for item in build_objects(files, environment)}
            for environment in (*fresh.environments, None)
            if has_overlay(files, environment)
        }
    except TfgenError as error:
        note = f"tfgen did not validate the overlays of {name} against the guard rails: {error}"
        return _CommittedObjects(note=note)
    environments = {environment: items for environment, items in committed.items() if environment is not None}
    objects = fresh.replaced(base=committed[None], environments=environments)
    reported = set_severities(document, check_guard_rails(document, objects))
    return _CommittedObjects(
        tuple(
            problem.replaced(message=f"{problem.message}; the value is in the committed files of {OVERLAYS}/{name}")
            for problem in reported.problems
        ),
        uses(objects) if has_limited_sums(document) else (),
    )


UNLISTED: Final = "unlisted-file"
KEY: Final = "unlistedFiles"
"""The key in the root tfgen.yaml whose value lists the allowed unlisted files."""

RULES: Final[Mapping[str, str]] = {UNLISTED: "A folder of tfgen contains a file that no ledger lists."}
"""The summary of the rule, which begins the section of the rule in docs/rules.md."""


def report_unlisted(out: Path, files: Sequence[str], jobs: Container[str], against: str) -> Iterator[Problem]:
    """Yield a problem for each unlisted file. A folder below overlays/ that belongs to no job gets a single problem.

    Untracked files that git ignores are left out, because no pull request can add them.

    Args:
        out: the output folder.
        files: the paths of the unlisted files from the output folder.
        jobs: the names of the jobs with a ledger.
        against: the revision whose root tfgen.yaml lists the allowed files, so that a pull request cannot allow its own
            files.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git or the disk fails.
    """
    patterns = _exceptions(out, against)
    of_git = ignored(out, (CHARTS, OVERLAYS))
    groups: dict[str, list[str]] = {}
    for path in files:
        if path in of_git or any(_matches(path, pattern) for pattern in patterns):
            continue
        top, name, *steps = path.split("/")
        is_of_no_job = top == OVERLAYS and steps and name not in jobs and name not in TOOLS
        groups.setdefault(f"{top}/{name}" if is_of_no_job else path, []).append(path)
    for group, paths in groups.items():
        subject = "the file" if len(paths) == 1 else f"the {count(len(paths), 'file')} of {group}"
        message = (
            f"no ledger lists {subject}, but Helm, kustomize and GitOps tools apply all files of the folder; delete "
            f"{subject}, or move the content to objects or patches of the job, or list the path under {KEY} in the "
            f"{FILE} of the main branch"
        )
        yield Problem(os.path.relpath(out / paths[0]), Position(1, 1), message, UNLISTED)


def _exceptions(out: Path, against: str) -> list[str]:
    """Return the path patterns of the unlisted files that the root tfgen.yaml of a revision allows.

    Without a commit in git, the function reads the tfgen.yaml on disk. An invalid tfgen.yaml allows no file, because
    its patterns may match more files than the schema lets a pattern match.
    """
    path = out / FILE
    content = CommitTree(against).read(path)
    if content is None and not has_commit(out):
        content = DISK.read(path)
    text = decode(content or b"", FILE)
    documents = parse(text, FILE).documents if isinstance(text, str) else ()
    if len(documents) != 1 or schema.check_defaults_alone(documents[0]):
        return []
    patterns: list[str] = data_path.at(documents[0].data, (KEY,)) or []
    return patterns


def _matches(path: str, pattern: str) -> bool:
    """Return whether a pattern matches a file. The pattern is a folder that ends with a slash, or a path with * and ?.

    >>> _matches("overlays/argocd/root.yaml", "overlays/argocd/*.yaml"), _matches("overlays/x/a/b", "overlays/x/")
    (True, True)
    """
    return path.startswith(pattern) if pattern.endswith("/") else fnmatchcase(path, pattern)


def find_unmatched_ledgers(
    out: Path, tree: Tree, ledgers: Collection[str], checked: Collection[str], branches: Mapping[str, str], reason: str
) -> Iterator[Problem]:
    """Yield a problem for each ledger of an unchecked job, or of a job with a separate branch for its rendered files.

    Args:
        out: the output folder.
        tree: the version of the files.
        ledgers: the names of the jobs whose ledgers the function reads.
        checked: the names of all checked jobs, including jobs with errors.
        branches: the branch for the rendered files of each job with `gitops.rendered`, by the name of the job.
        reason: a part of each message, such as "this ledger lists rendered files of the job".

    Raises:
        UsageError: a file of the repository cannot be read.
    """
    for job in sorted(ledgers):
        path, rule = ledger_path(job), NOT_REPRODUCED
        if job in branches:
            message = (
                f"the rendered files of {job} belong to the branch {branches[job]} (gitops.rendered), and {reason}; "
                f"remove {path} and the files in this ledger from this branch"
            )
        elif job in checked:
            continue
        elif files := find_job_files(job, out, tree):
            message = f"{files[0]} has the job {job}, and {reason}; add {files[0]} to the arguments of tfgen check"
        else:
            rule = ORPHAN
            message = (
                f"no file of the repository has the job {job}, and {reason}; "
                f"to remove {path} and the files in this ledger: {command_line('rm', job)}"
            )
        yield Problem(os.path.relpath(out / path), Position(1, 1), message, rule)


_DECIDING_KEYS = ("enabled", "namespace", "cluster", "storage")
"""The keys of an environment that decide whether a change ends a run or leaves a claim."""


def find_run_ends(places: Iterable[PairPlaces]) -> tuple[JobDiff, ...]:
    """Return the runs that the change of each job ends, and the claims that the change leaves in the cluster.

    A job whose change ends no run and leaves no claim has no item in the result.

    Args:
        places: the committed version and the current version of each job, as locations in files.

    Raises:
        TfgenError: git or the disk fails.
    """
    results = [*map_items(_ends_at, [place for place in places if not place.is_unchanged])]
    users = {claim: job for _, users_of_job in results for claim, job in users_of_job.items()}
    return tuple(ends.with_users(users) for ends, _ in results if ends)


def run_ends(pair: Pair) -> JobDiff | None:
    """Return the runs that a change of a job ends, and the remaining claims; None if the change ends no run."""
    if (
        pair.before is None
        or pair.has_same_text
        or (pair.after and _deciding_settings(pair.before.data) == _deciding_settings(pair.after.data))
    ):
        return None
    diff = diff_job(pair)
    environments = tuple(environment for environment in diff.environments if environment.ends_run_or_keeps_claim)
    removed = tuple(item for item in diff.delivery if item.action == "removed" and not item.is_shared)
    return diff.replaced(environments=environments, delivery=removed, needs_new_run=()) if environments else None


def removal_ends(job: str, file: Path) -> tuple[JobDiff, ...]:
    """Return the runs that the removal of a job ends, and the claims that remain after the removal.

    The function reads the job from its file, or from the last commit that has the file. The result is empty if neither
    contains a valid job with this name.

    Args:
        job: the name of the job.
        file: the job file, which may be missing.

    Raises:
        TfgenError: git or the disk fails.
    """
    ends = (run_ends(Pair(document, None)) for document in versions_of_job(job, file))
    return next(((item,) for item in ends if item), ())


def find_run_starts(unpaired: Sequence[PairPlaces]) -> Iterator[str]:
    """Yield a sentence for each run of a new job, if a job is removed as well, because the job may have a new name.

    Args:
        unpaired: the new jobs and the removed jobs.

    Raises:
        TfgenError: git or the disk fails.
    """
    if any(place.after is None for place in unpaired):
        for place in unpaired:
            if document := place.read().after:
                yield from run_starts(document)


def run_starts(document: Document) -> Iterator[str]:
    """Yield a sentence for each run that starts with the next sync if a job is new or has another name."""
    built = build(document.data)
    retired = {environment.name for environment in built.job.environments if not environment.enabled}
    for use in uses(built):
        if use.environment not in retired:
            place = f" in {use.environment}" if use.environment else ""
            gpus = count(int(use.total["gpus"]), "GPU")
            fix = f"; for no run: {command_for(document, 'rm', '--env', use.environment)}" if use.environment else ""
            yield f"{document.file}: the change starts a run of {use.job} now ({gpus}){place}{fix}"


def _ends_at(place: PairPlaces) -> tuple[JobDiff | None, dict[str, str]]:
    pair = place.read()
    return run_ends(pair), claim_users(pair.after)


def _deciding_settings(data: Any) -> tuple[Any, ...]:
    """Return the settings of a job, such as the namespace, that decide which runs end and which claims remain.

    If a changed job has the same settings, the change ends no run and leaves no claim.
    """
    environments = data_path.at(data, ("spec", "environments")) or {}
    by_name = {name: [values.get(key) for key in _DECIDING_KEYS] for name, values in environments.items()}
    return (data_path.at(data, ("metadata", "namespace")), data_path.at(data, ("spec", "storage")), by_name)


def full_check(
    results: FileResults,
    staging: Staging,
    *,
    against: str,
    out: Path,
    is_written: bool = False,
    is_verified: bool = False,
) -> Report:
    """Check jobs, and compare the jobs with their files on disk and with their committed versions.

    Args:
        results: the results of `check_files`.
        staging: the staging folder with the rendered files.
        against: the revision to compare with.
        out: the output folder.
        is_written: whether the command writes the rendered files after the check. If so, outdated files are no problem.
        is_verified: whether all files on disk must match the files that this version of tfgen renders.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    checked, scope = results.checked, results.scope
    changed = [file for file in checked.valid_files if not file.is_cached]
    # These files were read from the cache, but a job in them clashes with a changed job, so the files are rendered now.
    clashing = [file.source for file in changed if file.source.file not in results.rendered]
    rendered = {**results.rendered, **dict(render_files(results.checker, staging, clashing, scope) if clashing else ())}
    files = [(file, rendered[file.source.file]) for file in changed]

    def find_cached(sources: Sequence[Source]) -> Mapping[str, CachedFile]:
        # Without job files, the manifests are not read.
        return read_cached_files(sources, scope.find_manifests()) if sources and not is_verified else {}

    compared = compare(checked, against, find_cached, scope.tree)
    problems = [*checked.problems, *compared.problems]
    problems += (problem for _, file in files for problem in file.object_report.problems)
    problems += (problem for file, result in files for problem in _find_unused(results, file, result))
    uses_of = {file.source.file: result.uses for file, result in files}
    notes = [*compared.notes, *find_run_starts(compared.unpaired)]
    if kinds := sorted({kind for _, file in files for kind in file.kinds_without_schema}):
        notes.append(
            f"tfgen has no schemas for the kinds {', '.join(kinds)}, and does not validate objects of these kinds"
        )
    jobs = [job for _, file in files for job in file.jobs]
    if local_jobs := [job for job in jobs if not job.branch]:
        find_committed = committed_jobs(out, HEAD, tree=scope.tree) if is_written else None
        plan = plan_write(
            WriteRequest(
                out,
                [job.rendering for job in local_jobs],
                find_committed=find_committed,
                has_job=find_job_at((job.place.file for job in local_jobs), scope.tree),
                staging=staging,
                tree=scope.tree,
            )
        )
        find_changed = scope.find_changed or changed_files(out, against, scope.tree)
        overlays = compare_overlays(
            compared.pairs, plan, against, is_written=is_written, find_changed=find_changed, find_cached=find_cached
        )
        base = Base() if is_written or is_verified else _base(out, against, plan, find_changed)
        places = {job.name: job.place for job in local_jobs}
        on_disk = FileComparison((), ()) if is_written else compare_files(places, plan, base)
        problems += (*overlays.problems, *on_disk.problems)
        notes += (*overlays.notes, *on_disk.notes)
        if names := _unrendered_jobs(plan, base):
            for file_name, committed in _check_committed(results, plan, files, names):
                problems += committed.problems
                notes += [committed.note] if committed.note else []
                # The uses of the committed objects replace those of the rendered objects of the same job.
                jobs_of_uses = {use.job for use in committed.uses}
                rendered_uses = (use for use in uses_of[file_name] if use.job not in jobs_of_uses)
                uses_of[file_name] = (*rendered_uses, *committed.uses)
    problems += find_sums(results.checker, checked.sources, uses_of, scope.tree)
    return Report(in_order(problems), tuple(notes), len(compared.pairs), tuple(jobs))


def _base(out: Path, against: str, plan: WritePlan, find_changed: FindNames) -> Base:
    """Return the base of comparison for the revision `against`.

    The base lists the jobs of `plan` whose rendered files are the same as in this revision. The base also lists the
    paths of the rendered files that differ from the revision.
    """
    if plan.is_done:
        return Base(committed=plan.ledgers.keys(), revision=against)
    return Base(committed_jobs(out, against, find_changed)(plan.ledgers), find_changed(), against)


def _unrendered_jobs(plan: WritePlan, base: Base) -> set[str]:
    """Return the names of the jobs that keep their committed files, although tfgen now renders different files."""
    changed = (job.plan for job in plan.jobs if job.counts.keys() - {FileAction.KEEP})
    jobs = (job for job in changed if job.before and job.before.is_of_same_job(job.target))
    return {*plan.kept_jobs, *(job.rendering.job for job in jobs if job.rendering.job in base.committed)}


def _find_unused(results: FileResults, file: CheckedFile, rendered: RenderedFile) -> tuple[Problem, ...]:
    """Return a problem for each ignore comment in a job file that suppresses no problem.

    If a job of the file conflicts with a job of another file, the function searches the file again, because a comment
    may suppress the problem of the conflict.
    """
    if not file.clashes:
        return rendered.unused
    jobs = {job.name for job in rendered.jobs}
    documents = [document for document in read_documents(file.source) if name_of(document) in jobs]
    return report_unused(documents, (*results.checked.ignored, *rendered.object_report.ignored))

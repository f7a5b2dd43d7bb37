"""Read, check and render job files in parallel processes.

The rendered files go to a staging folder, so that memory use does not grow with the number of jobs.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tfgen.check.checked import CachedFile, CheckedFile, CheckResult, ReadFile, Reported, merged_reports, store
from tfgen.check.jobs import Checker
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.source import report_unused, set_severities
from tfgen.disk_file import read_text, replace_text, whole_path
from tfgen.errors import Place, Problem, TfgenError, has_errors
from tfgen.git import merge as git
from tfgen.git.tree import DISK, Tree
from tfgen.graph.graph import build
from tfgen.job.facts import name_of, rendered_branch
from tfgen.job.sources import Source, read_sources
from tfgen.pipeline.scope import CheckScope
from tfgen.places import CHARTS, OVERLAYS
from tfgen.rails.limits import JobUse, find_sums_over_limits, has_limited_sums, limits_sums, uses
from tfgen.record import Record
from tfgen.targets.gitops import ChangedField, controller_fields
from tfgen.targets.render import render_document
from tfgen.text.document import Document
from tfgen.tree.folder import OutputFolder
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, conflict_sides, job_of, ledger_path, merge_ledgers, parse_ledger
from tfgen.tree.plan import WritePlan
from tfgen.tree.staging import Rendering, Staged, Staging
from tfgen.tree.write import digest_of_ledger
from tfgen.workers import map_items


def limited_uses(documents: Iterable[Document]) -> tuple[JobUse, ...]:
    """Return the requested resources of each job to which a limit on the sum of several jobs applies."""
    limited = filter(has_limited_sums, documents)
    return tuple(use for document in limited for use in uses(build(document.data)))


def find_sums(
    checker: Checker, sources: Sequence[Source], uses_by_file: Mapping[str, Sequence[JobUse]], tree: Tree = DISK
) -> Iterator[Problem]:
    """Yield a problem for each limit that all jobs below the folder of a tfgen.yaml exceed together.

    Args:
        checker: the checker of the jobs.
        sources: the checked files.
        uses_by_file: the resources that the jobs of each valid file request, by the name of the file.
        tree: the version of the files.

    Raises:
        UsageError: another job file below the folder of the tfgen.yaml cannot be read.
    """
    whole = [source for source in sources if source.file in uses_by_file]
    layers = {layer.file: layer for under in checker.read_defaults(whole) for layer in under.layers()}
    for layer in filter(limits_sums, layers.values()):
        path = Path(layer.file)
        unchecked = _unchecked_uses(path.parent, sources, tree)
        uses_by_source = [*((source, uses_by_file[source.file]) for source in whole), *unchecked]
        layer_uses = (
            uses
            for source, uses in uses_by_source
            if any(whole_path(Path(above.file)) == whole_path(path) for above in source.layers())
        )
        yield from find_sums_over_limits(layer, [use for uses in layer_uses for use in uses])


def _unchecked_uses(folder: Path, sources: Sequence[Source], tree: Tree) -> Iterator[tuple[Source, tuple[JobUse, ...]]]:
    """Yield each valid job file below a folder, except for `sources`, with the resources that its jobs request."""
    checked_paths = {whole_path(Path(source.file)) for source in sources}
    candidates = read_sources([folder], tree, may_be_none=True)
    unchecked = {source.file: source for source in candidates if whole_path(Path(source.file)) not in checked_paths}
    checker = Checker(is_guarded=False)
    checker.read_defaults(unchecked.values())
    results = dict(zip(unchecked, map_items(partial(_check_uses, checker), [*unchecked.values()]), strict=True))
    checked = checker.check_together(CheckedFile(unchecked[file], result) for file, (result, _) in results.items())
    return ((file.source, results[file.source.file][1]) for file in checked.valid_files)


def _check_uses(checker: Checker, source: Source) -> tuple[CheckResult, tuple[JobUse, ...]]:
    file = checker.check(source)
    return file.result, limited_uses(file.documents) if file.is_valid else ()


class RenderedJob(NamedTuple):
    """A rendered job.

    Attributes:
        place: the file and line of the job's name.
        branch: the separate branch for rendered files (gitops.rendered); empty without such a branch.
        reported: the problems of the job's objects.
        kinds_without_schema: the kinds of the job's objects for which no schema exists.
        uses: the resources that the job requests; empty if no tfgen.yaml of the job limits the sum of several jobs.
        rendering: the job's rendered files in the staging folder.
        fields_reset_by_gitops: for a job without `gitops`, the fields that controllers in the cluster change, such as
            `spec.replicas`. A hand-written Application or Kustomization would reset these fields.
    """

    name: str
    place: Place
    branch: str
    reported: Reported
    kinds_without_schema: tuple[str, ...]
    uses: tuple[JobUse, ...]
    rendering: Staged[Rendering]
    fields_reset_by_gitops: tuple[ChangedField, ...]


def render_job(staging: Staging, scope: CheckScope, document: Document) -> RenderedJob:
    """Render one job, and check its objects. The staging folder receives the files of the job."""
    schemas = ObjectSchemas(scope.kubernetes_version)
    built = build(document.data)
    problems = check_objects(document, built, schemas, scope.find_manifests())
    items = [item for objects in (built.base, *built.environments.values()) for item in objects.values()]
    return RenderedJob(
        name=name_of(document),
        place=Place(document.file, document.value(("metadata", "name"))),
        branch=rendered_branch(document),
        reported=set_severities(document, problems),
        kinds_without_schema=schemas.kinds_without_schema(items),
        uses=uses(built) if has_limited_sums(document) else (),
        rendering=staging.add(render_document(document, built, uses_cache=scope.cache_out is not None)),
        fields_reset_by_gitops=tuple(controller_fields(items)) if built.job.gitops is None else (),
    )


def _store_file(
    file: ReadFile, jobs: Sequence[RenderedJob], unused: tuple[Problem, ...], out: Path, scope: CheckScope
) -> None:
    """Store the check results of a job file in the cache, together with the digests of the jobs' ledgers.

    The function does not store a file with:

    - errors;
    - a job with `gitops.rendered`, because its rendered files are not on disk;
    - a job with a limit on the sum of several jobs, because the result depends on other jobs.

    Args:
        file: the job file, with its documents.
        jobs: the rendered jobs of the file.
        unused: the problems about ignore comments that have no effect.
        out: the output folder with the ledgers.
        scope: the settings of the check.
    """
    problems, object_problems = file.result.reported.problems, merged_reports(job.reported for job in jobs).problems
    if has_errors((*problems, *object_problems, *unused)) or any(
        rendered_branch(document) or has_limited_sums(document) for document in file.documents
    ):
        return
    ledgers = {job.name: digest_of_ledger(out, job.rendering.read(), scope.tree) for job in jobs}
    data = json.dumps([document.data for document in file.documents], separators=(",", ":"))
    results = CachedFile(problems, object_problems, unused, file.result.records, ledgers)
    store(file.source, results, data, scope.find_manifests())


# A key begins at the start of a word. A search from each letter of a long word takes quadratic time.
_KEYS: Final = re.compile(r"(?<![\w-])[\w-]+[\"']?:(?=\s)")


class RenderedFile(NamedTuple):
    """The result of the check and render of a job file.

    Attributes:
        result: the result of the check of the file.
        jobs: the rendered jobs; empty for a file with errors.
        uses: the resources that each job requests, for the jobs whose tfgen.yaml limits the sum of several jobs.
        unused: the problems about ignore comments that have no effect.
    """

    result: CheckResult
    jobs: tuple[RenderedJob, ...]
    uses: tuple[JobUse, ...]
    unused: tuple[Problem, ...]

    @property
    def object_report(self) -> Reported:
        """The problems of the objects of all jobs."""
        return merged_reports(job.reported for job in self.jobs)

    @property
    def kinds_without_schema(self) -> frozenset[str]:
        """The kinds of the jobs' objects for which no schema exists."""
        return frozenset(kind for job in self.jobs for kind in job.kinds_without_schema)


def render_files(
    checker: Checker, staging: Staging, sources: Sequence[Source], scope: CheckScope
) -> Iterator[tuple[str, RenderedFile]]:
    """Check job files, and render the jobs of valid files. Yield the name and the result of each file.

    Files with the same keys are rendered in the same process, because their jobs usually have the same structure, and a
    process builds the object graph of a structure only once.

    Args:
        checker: reads the defaults of the files.
        staging: receives the rendered files.
        sources: the job files.
        scope: the settings of the check.

    Raises:
        UsageError: no schemas exist for the Kubernetes version of the check.
        TfgenError: the disk fails.
    """
    is_skipped = scope.make_unchanged_test() if scope.make_unchanged_test else None  # once, and not in each process
    group_of_hash: dict[int, int] = {}
    groups: dict[str, int] = {}
    for source in sources:
        text = source.text()
        keys = 0 if isinstance(text, Problem) else hash(tuple(_KEYS.findall(text)))
        groups[source.file] = group_of_hash.setdefault(keys, len(group_of_hash))
    grouped = sorted(sources, key=lambda source: groups[source.file])
    staging.begin()
    has_error = mmap.mmap(-1, 1)  # a byte that all processes share
    files = map_items(
        partial(_render_file, checker, staging, scope, is_skipped, has_error),
        grouped,
        alike=lambda source: groups[source.file],
    )
    return zip((source.file for source in grouped), files, strict=True)


def _render_file(
    checker: Checker,
    staging: Staging,
    scope: CheckScope,
    is_skipped: Callable[[Document], bool] | None,
    has_error: mmap.mmap,
    source: Source,
) -> RenderedFile:
    file = checker.check(source)
    if not file.is_valid and scope.stops_at_errors:
        has_error[0] = 1
    if not file.is_valid or has_error[0]:
        return RenderedFile(file.result, jobs=(), uses=(), unused=())
    skipped = [document for document in file.documents if is_skipped and is_skipped(document)]
    documents = [document for document in file.documents if document not in skipped]
    jobs = tuple(render_job(staging, scope, document) for document in documents)
    object_report = merged_reports(job.reported for job in jobs)
    unused = report_unused(documents, (*file.result.reported.ignored, *object_report.ignored))
    if scope.cache_out is not None and not skipped:
        _store_file(file, jobs, unused, scope.cache_out, scope)
    uses = (*(use for job in jobs for use in job.uses), *limited_uses(skipped))
    return RenderedFile(file.result, jobs, uses, unused)


_FOLDERS = (CHARTS, OVERLAYS, LEDGER_FOLDER)


class MergedFiles(Record):
    """The rendered files of a merge with conflicts.

    Attributes:
        out: the output folder.
        unmerged: the files with a conflict, as paths from the output folder.
        ledgers: for each ledger that `take_over_merge` replaced, the text before and the text after the replacement, by
            the path of the ledger.
    """

    out: Path
    unmerged: frozenset[str] = frozenset()
    ledgers: Mapping[str, tuple[str, str]] = {}

    def undo(self) -> None:
        """Restore the ledgers that `take_over_merge` replaced.

        A ledger that a later render wrote remains unchanged.
        """
        for path, (before, after) in self.ledgers.items():
            with suppress(TfgenError):
                replace_text(self.out / path, after, before)

    def resolve(self, plan: WritePlan) -> int:
        """Stage the files of the rendered jobs in git, and return the number of resolved conflicts.

        A job whose files must be staged is a job that the plan changes, or a job with an unmerged file.

        Raises:
            TfgenError: git fails.
        """
        if not self.unmerged:
            return 0
        names: set[str] = set()
        for job in (planned.plan for planned in plan.jobs):
            before = job.before.paths() if job.before else set()
            paths = {ledger_path(job.rendering.job), *before, *job.target.files}
            names |= paths if not job.is_done() or not self.unmerged.isdisjoint(paths) else set()
        for name in plan.request.done:
            paths = {ledger_path(name), *plan.ledgers[name].files} if name in plan.ledgers else set()
            names |= paths if not self.unmerged.isdisjoint(paths) else set()
        git.stage_files(self.out, names)
        return len(names & self.unmerged)


def take_over_merge(out: Path, conflicted: Collection[str]) -> MergedFiles:
    """Merge each ledger that has a conflict, so that the ledger lists the files of both branches.

    The next render may then replace all these files.

    Args:
        out: the output folder.
        conflicted: the names of the jobs whose ledgers have conflict markers.

    Raises:
        TfgenError: git or the disk fails, or a version of a ledger in the conflict is invalid.
    """
    unmerged = git.unmerged_files(out, _FOLDERS)
    in_ledgers = ((path.rpartition("/"), versions) for path, versions in unmerged.items())
    stages = {
        job: versions for (folder, _, name), versions in in_ledgers if folder == LEDGER_FOLDER and (job := job_of(name))
    }
    jobs = [job for job in sorted({*conflicted, *stages}) if (out / ledger_path(job)).is_file()]
    written: set[str] = set()
    if jobs and git.is_in_repository(out):
        written = git.files_of_merge(out, _FOLDERS, is_committed=not unmerged and not git.is_under_way(out))
    ledgers = {}
    for job in jobs:
        before = read_text(out / ledger_path(job))
        ours, theirs = _ledger_versions(out, job, before, stages.get(job, {}))
        with OutputFolder(out) as folder:
            on_disk = folder.states(written & (ours.paths() | theirs.paths()))
        digests = {path: entry.digest for path, entry in on_disk.items() if entry.digest}
        ledgers[ledger_path(job)] = (before, merge_ledgers(ours, theirs, digests).to_text())
    for path, (before, after) in ledgers.items():
        replace_text(out / path, before, after)
    return MergedFiles(out, frozenset(unmerged), ledgers)


def _ledger_versions(out: Path, job: str, text: str, stages: Mapping[int, str]) -> tuple[Ledger, Ledger]:
    """Return the two versions of a job's ledger in a merge: of the current branch, and of the merged branch.

    If one branch deleted the ledger, return the ledger of the other branch twice.

    Args:
        out: the output folder.
        job: the name of the job.
        text: the ledger on disk, with conflict markers.
        stages: the git ids of the versions, by the stage in the git index. Example: {2: "3b18e5", 3: "9daeaf"}, with 2
            for the current branch and 3 for the merged branch. If the mapping is empty, the function reads both
            versions from `text`.

    Raises:
        TfgenError: a version is not a valid ledger.
    """
    versions = [git.read_version(out, stages[stage]) for stage in (git.OURS, git.THEIRS) if stage in stages]
    texts = versions or conflict_sides(text)
    return parse_ledger(job, texts[0]), parse_ledger(job, texts[-1])

"""Read, check and render job files in parallel processes.

The rendered files go to a staging folder, so that memory use does not grow with the number of jobs.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tfgen.check.checked import CheckResult, Reported, merged_reports
from tfgen.check.jobs import Checker
from tfgen.check.severities import report_unused
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.rendered_job import RenderedJob, render_job
from tfgen.commands.pipeline.store_file import store_file
from tfgen.commands.pipeline.sums import limited_uses
from tfgen.errors import Problem
from tfgen.git.tree import Tree
from tfgen.job.sources import Source
from tfgen.rails.limits import JobUse
from tfgen.text.document import Document
from tfgen.tree.staging import Staging
from tfgen.tree.write import digest_of_ledger
from tfgen.workers import map_items

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
    process builds the object graph of a structure only once (`graph.structure_cache`).

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
    groups = {source.file: group_of_hash.setdefault(_hash_keys(source), len(group_of_hash)) for source in sources}
    grouped = sorted(sources, key=lambda source: groups[source.file])
    staging.begin()
    has_error = mmap.mmap(-1, 1)  # a byte that all processes share
    files = map_items(
        partial(_render_file, checker, staging, scope, is_skipped, has_error),
        grouped,
        alike=lambda source: groups[source.file],
    )
    return zip((source.file for source in grouped), files, strict=True)


def _hash_keys(source: Source) -> int:
    """Return a hash of the YAML keys in a file, without a slow parse. Files with the same keys have the same hash."""
    text = source.text()
    return 0 if isinstance(text, Problem) else hash(tuple(_KEYS.findall(text)))


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
    manifests = scope.find_manifests()
    uses_cache = scope.cache_out is not None
    jobs = tuple(
        render_job(staging, scope.kubernetes_version, manifests, document, uses_cache=uses_cache)
        for document in documents
    )
    object_report = merged_reports(job.reported for job in jobs)
    unused = report_unused(documents, (*file.result.reported.ignored, *object_report.ignored))
    if scope.cache_out is not None and not skipped:
        digests = {job.name: partial(_ledger_digest, scope.cache_out, scope.tree, job) for job in jobs}
        store_file(file, object_report, unused, digests, manifests)
    uses = (*(use for job in jobs for use in job.uses), *limited_uses(skipped))
    return RenderedFile(file.result, jobs, uses, unused)


def _ledger_digest(out: Path, tree: Tree, job: RenderedJob) -> str:
    return digest_of_ledger(out, job.rendering.read(), tree)

"""All that comes of job files, each in some process as a whole: little of it is in memory, its texts are in a spool."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from tfgen.check.admission.folder import PolicyFolders, error_of, read_folders_of
from tfgen.check.checked import CheckResult, Weighed
from tfgen.check.jobs import Checker
from tfgen.check.limits import JobUse
from tfgen.check.severities import weigh_unused
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.rendered_job import RenderedJob, render_job
from tfgen.commands.pipeline.store_file import keep_file
from tfgen.commands.pipeline.sums import uses_of
from tfgen.errors import TfgenError
from tfgen.job.facts import name_of, rendered_branch
from tfgen.job.sources import Source
from tfgen.problems import Place, Problem
from tfgen.text.document import Document
from tfgen.tree.spool import Slot, Spool
from tfgen.tree.write import digest_of_ledger
from tfgen.workers import map_items

# From the start of a word alone: to look for a key from each letter of a long text takes time by the square of them.
_KEYS: Final = re.compile(r"(?<![\w-])[\w-]+[\"']?:(?=\s)")


class SpooledJob(NamedTuple):
    """A job that is rendered.

    Attributes:
        name: its name.
        place: where that is said.
        branch: the branch that its charts/ and overlays/ are kept in; empty where they are beside it.
        rendering: what is rendered of it (`Rendering`).
    """

    name: str
    place: Place
    branch: str
    rendering: Slot


class RenderedFile(NamedTuple):
    """One file.

    Attributes:
        result: the result of its check.
        of_objects: what is wrong with the objects of its jobs.
        unused: the comments that ignore nothing of all that.
        unknown: the kinds of its objects that no schema is known of.
        uses: what its jobs ask for, where sums of that are limited.
        jobs: those that are rendered.
        error: why its jobs cannot be held against the platform's policies, and so are not rendered.
    """

    result: CheckResult
    of_objects: Weighed = Weighed()
    unused: tuple[Problem, ...] = ()
    unknown: frozenset[str] = frozenset()
    uses: tuple[JobUse, ...] = ()
    jobs: tuple[SpooledJob, ...] = ()
    error: TfgenError | None = None

    def require_policies(self) -> None:
        """Checks that its jobs could be held against the platform's policies.

        Raises:
            UsageError: there are policies, and nothing that evaluates them.
            TfgenError: one cannot be read.
        """
        if self.error:
            raise self.error


def render_files(
    checker: Checker, spool: Spool, sources: Sequence[Source], scope: CheckScope
) -> Iterator[tuple[str, RenderedFile]]:
    """Check files, and render the jobs of those without errors; give each with its name as soon as it is done.

    They come in an order of their own: files that look alike are next to each other, and in one process. For their jobs
    mostly have one structure, and what follows from that is made once (`graph.shape`).

    Args:
        checker: reads the defaults under them.
        spool: has the renderings in the end.
        sources: the files.
        scope: what is looked at of them.

    Raises:
        UsageError: there are no schemas of that version.
        TfgenError: the disk fails.
    """
    policies = read_folders_of(checker.read_defaults(sources))
    passes_over = scope.find_unchanged() if scope.find_unchanged else None  # once, and not in each process
    looks: dict[int, int] = {}
    look_of = {source.file: looks.setdefault(_look(source), len(looks)) for source in sources}
    in_turn = sorted(sources, key=lambda source: look_of[source.file])
    files = map_items(
        partial(_render_file, checker, policies, spool, scope, passes_over),
        in_turn,
        alike=lambda source: look_of[source.file],
    )
    return zip((source.file for source in in_turn), files, strict=True)


def _look(source: Source) -> int:
    """The same for files whose texts have what look like the same keys: to parse them takes far longer."""
    text = source.text()
    return 0 if isinstance(text, Problem) else hash(tuple(_KEYS.findall(text)))


def _render_file(
    checker: Checker,
    policies: PolicyFolders,
    spool: Spool,
    scope: CheckScope,
    passes_over: Callable[[Document], bool] | None,
    source: Source,
) -> RenderedFile:
    file = checker.check(source)
    rendered = RenderedFile(file.result)
    if not file.is_whole:
        if scope.ends_with_errors:
            spool.give_up()
        return rendered
    if spool.is_given_up():
        return rendered
    passed_over = [document for document in file.documents if passes_over and passes_over(document)]
    documents = [document for document in file.documents if document not in passed_over]
    if error := next(filter(None, (error_of(document, policies) for document in documents)), None):
        return rendered._replace(error=error)
    jobs = [render_job(scope.kubernetes_version, scope.find_manifests(), policies, document) for document in documents]
    of_objects = Weighed(
        tuple(problem for job in jobs for problem in job.weighed.problems),
        tuple(problem for job in jobs for problem in job.weighed.ignored),
    )
    unused = weigh_unused(documents, (*file.result.weighed.ignored, *of_objects.ignored))
    if scope.kept_for is not None and not passed_over:
        digests = {job.rendering.job: partial(digest_of_ledger, scope.kept_for, job.rendering) for job in jobs}
        keep_file(file, of_objects, unused, digests, scope.find_manifests())
    return rendered._replace(
        of_objects=of_objects,
        unused=unused,
        unknown=frozenset(kind for job in jobs for kind in job.unknown),
        uses=(*(use for job in jobs for use in job.uses), *uses_of(passed_over)),
        jobs=tuple(_spooled(spool, document, job) for document, job in zip(documents, jobs, strict=True)),
    )


def _spooled(spool: Spool, document: Document, job: RenderedJob) -> SpooledJob:
    return SpooledJob(
        name=name_of(document),
        place=Place(document.file, document.value(("metadata", "name"))),
        branch=rendered_branch(document),
        rendering=spool.put(job.rendering.spooled(spool)),
    )

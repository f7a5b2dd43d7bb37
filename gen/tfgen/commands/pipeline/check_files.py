"""Job files judged beside each other: those that are known, and all others, which are checked and rendered for it.

A file goes through as a whole, in one of some processes: it is read, checked and rendered, and what is rendered waits
in a spool. What is left in memory is what the jobs are judged by together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfgen.check.checked import Checked, CheckedFile
from tfgen.check.jobs import Checker
from tfgen.commands.pipeline.cached_files import KnownFile, cached_file
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.track import Track
from tfgen.job.sources import Source
from tfgen.record import Record
from tfgen.tree.spool import Spool

if TYPE_CHECKING:
    from tfgen.commands.pipeline.rendered_file import RenderedFile


class JudgedFiles(Record):
    """Some files.

    Attributes:
        checker: has the defaults under them.
        checked: what is wrong with them; without documents.
        rendered: those that were not known, by name, in their order.
        scope: what was looked at of those.
    """

    checker: Checker
    checked: Checked
    rendered: Mapping[str, RenderedFile]
    scope: CheckScope


def judge_files(
    sources: Sequence[Source], known: Mapping[str, KnownFile], spool: Spool, scope: CheckScope, track: Track
) -> JudgedFiles:
    """Judge files.

    Args:
        sources: the files.
        known: those of which nothing has changed, by name.
        spool: has the renderings of all others in the end.
        scope: what is looked at of those.
        track: what is told of each of those.

    Raises:
        TfgenError: the disk fails.
    """
    checker = Checker()
    unknown = [source for source in sources if source.file not in known]
    files = dict(track(_render(checker, spool, unknown, scope), len(unknown)))
    rendered = {source.file: files[source.file] for source in unknown}
    checked = checker.judge(
        CheckedFile(source, rendered[source.file].result)
        if source.file in rendered
        else cached_file(source, known[source.file])
        for source in sources
    )
    return JudgedFiles(checker, checked, rendered, scope)


def _render(
    checker: Checker, spool: Spool, sources: Sequence[Source], scope: CheckScope
) -> Iterable[tuple[str, RenderedFile]]:
    if not sources:
        return ()
    from tfgen.commands.pipeline.rendered_file import render_files  # 60 ms, which files that are known need not pay

    return render_files(checker, spool, sources, scope)

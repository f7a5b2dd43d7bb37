"""Job files that are checked together: some results come from the cache, all other files are checked and rendered.

Each file is read, checked and rendered in one of several processes, and its rendered files are in a spool. In memory
stays only the data by which the jobs of all files are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfgen.check.checked import Checked, CheckedFile
from tfgen.check.jobs import Checker
from tfgen.commands.pipeline.cached_files import CachedFile, from_cache
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.track import Track
from tfgen.job.sources import Source
from tfgen.record import Record
from tfgen.tree.spool import Spool

if TYPE_CHECKING:
    from tfgen.commands.pipeline.rendered_file import RenderedFile


class FileResults(Record):
    """Files that were checked together.

    Attributes:
        checker: the checker, which has read the defaults under the files.
        checked: the results of all files.
        rendered: the files that were not in the cache, by name, in the order of the files.
        scope: the extent of the check.
    """

    checker: Checker
    checked: Checked
    rendered: Mapping[str, RenderedFile]
    scope: CheckScope


def check_files(
    sources: Sequence[Source], cached: Mapping[str, CachedFile], spool: Spool, scope: CheckScope, track: Track
) -> FileResults:
    """Check files together.

    Args:
        sources: the files.
        cached: the files whose results come from the cache, by name.
        spool: receives the rendered files of all other job files.
        scope: the extent of the check.
        track: reports the progress.

    Raises:
        TfgenError: the disk fails.
    """
    checker = Checker()
    changed = [source for source in sources if source.file not in cached]
    files = dict(track(_render(checker, spool, changed, scope), len(changed)))
    rendered = {source.file: files[source.file] for source in changed}
    checked = checker.check_together(
        CheckedFile(source, rendered[source.file].result)
        if source.file in rendered
        else from_cache(source, cached[source.file])
        for source in sources
    )
    return FileResults(checker, checked, rendered, scope)


def _render(
    checker: Checker, spool: Spool, sources: Sequence[Source], scope: CheckScope
) -> Iterable[tuple[str, RenderedFile]]:
    if not sources:
        return ()
    from tfgen.commands.pipeline.rendered_file import render_files  # 60 ms, which cached files save

    return render_files(checker, spool, sources, scope)

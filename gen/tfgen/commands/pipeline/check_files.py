"""Check and render job files in parallel processes, except for files whose results are in the cache.

The rendered files go to a staging folder, so that memory use remains low.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfgen.check.cached_files import CachedFile, from_cache
from tfgen.check.checked import Checked, CheckedFile
from tfgen.check.jobs import Checker
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.track import Track
from tfgen.job.sources import Source
from tfgen.record import Record
from tfgen.tree.staging import Staging

if TYPE_CHECKING:
    from tfgen.commands.pipeline.rendered_file import RenderedFile


class FileResults(Record):
    """The results of `check_files`.

    Attributes:
        checker: the `Checker` that checked the files. A second check with this checker reads no tfgen.yaml again.
        checked: the check results of all files.
        rendered: the result of the render of each job file that was not in the cache, by the name of the job file.
        scope: the settings of the check.
    """

    checker: Checker
    checked: Checked
    rendered: Mapping[str, RenderedFile]
    scope: CheckScope


def check_files(
    sources: Sequence[Source], cached: Mapping[str, CachedFile], staging: Staging, scope: CheckScope, track: Track
) -> FileResults:
    """Check job files, and render the files that are not in the cache.

    Args:
        sources: the job files.
        cached: the cached results, by the name of the job file.
        staging: receives the rendered files.
        scope: the settings of the check.
        track: reports the progress.

    Raises:
        TfgenError: the disk fails.
    """
    checker = Checker()
    changed = [source for source in sources if source.file not in cached]
    files = dict(track(_render(checker, staging, changed, scope), len(changed)))
    rendered = {source.file: files[source.file] for source in changed}
    checked = checker.check_together(
        CheckedFile(source, rendered[source.file].result)
        if source.file in rendered
        else from_cache(source, cached[source.file])
        for source in sources
    )
    return FileResults(checker, checked, rendered, scope)


def _render(
    checker: Checker, staging: Staging, sources: Sequence[Source], scope: CheckScope
) -> Iterable[tuple[str, RenderedFile]]:
    if not sources:
        return ()
    from tfgen.commands.pipeline.rendered_file import render_files  # takes 60 ms, which cached files do not need

    return render_files(checker, staging, sources, scope)

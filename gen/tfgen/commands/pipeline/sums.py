"""Check the limits that a tfgen.yaml sets for all jobs below its folder together, such as the sum of their GPUs.

The sum includes jobs that the command line does not name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tfgen.check.checked import CheckedFile, CheckResult
from tfgen.check.jobs import Checker
from tfgen.disk_file import whole_path
from tfgen.errors import Problem
from tfgen.git.tree import DISK, Tree
from tfgen.graph.built import build
from tfgen.job.sources import Source, read_sources
from tfgen.rails.limits import JobUse, find_sums_over_limits, has_limited_sums, limits_sums, uses
from tfgen.text.document import Document
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
        unchecked = _unchecked_uses(Path(layer.file).parent, sources, tree)
        uses_by_source = [*((source, uses_by_file[source.file]) for source in whole), *unchecked]
        layer_uses = (uses for source, uses in uses_by_source if _is_under(source, layer.file))
        yield from find_sums_over_limits(layer, [use for uses in layer_uses for use in uses])


def _unchecked_uses(folder: Path, sources: Sequence[Source], tree: Tree) -> Iterator[tuple[Source, tuple[JobUse, ...]]]:
    """Yield each valid job file below a folder, except for `sources`, with the resources that its jobs request."""
    checked_paths = {whole_path(Path(source.file)) for source in sources}
    candidates = read_sources([folder], tree, may_be_none=True)
    unchecked = {source.file: source for source in candidates if whole_path(Path(source.file)) not in checked_paths}
    checker = Checker(is_guarded=False)
    checker.read_defaults(unchecked.values())
    results = dict(zip(unchecked, map_items(partial(_check, checker), [*unchecked.values()]), strict=True))
    checked = checker.check_together(CheckedFile(unchecked[file], result) for file, (result, _) in results.items())
    return ((file.source, results[file.source.file][1]) for file in checked.valid_files)


def _check(checker: Checker, source: Source) -> tuple[CheckResult, tuple[JobUse, ...]]:
    file = checker.check(source)
    return file.result, limited_uses(file.documents) if file.is_valid else ()


def _is_under(source: Source, file: str) -> bool:
    return any(whole_path(Path(layer.file)) == whole_path(Path(file)) for layer in source.layers())

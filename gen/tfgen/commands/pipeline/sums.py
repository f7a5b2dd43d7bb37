"""The sums that a tfgen.yaml limits: of all jobs below its folder, whichever of them a command is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tfgen.check.checked import CheckedFile, CheckResult
from tfgen.check.jobs import Checker
from tfgen.check.limits import JobUse, find_sums_over_limits, has_limited_sums, limits_sums, uses
from tfgen.graph.built import build
from tfgen.job.sources import Source, read_sources
from tfgen.problems import Problem
from tfgen.real_path import real_path
from tfgen.text.document import Document
from tfgen.workers import map_items


def uses_of(documents: Iterable[Document]) -> tuple[JobUse, ...]:
    """What jobs that are not rendered ask for, of which a tfgen.yaml limits a sum."""
    limited = filter(has_limited_sums, documents)
    return tuple(use for document in limited for use in uses(build(document.data)))


def find_sums(
    checker: Checker, sources: Sequence[Source], of_files: Mapping[str, Sequence[JobUse]]
) -> Iterator[Problem]:
    """Each sum that is over a limit of a tfgen.yaml above some jobs.

    Args:
        checker: of these jobs.
        sources: the files that were checked.
        of_files: what the jobs ask for in those that have no errors, by name.

    Raises:
        UsageError: another job below that tfgen.yaml cannot be read.
    """
    whole = [source for source in sources if source.file in of_files]
    layers = {layer.file: layer for under in checker.read_defaults(whole) for layer in under.layers()}
    for layer in filter(limits_sums, layers.values()):
        others = _others_below(Path(layer.file).parent, sources)
        of_all = [*((source, of_files[source.file]) for source in whole), *others]
        of_layer = (of_file for source, of_file in of_all if _is_under(source, layer.file))
        yield from find_sums_over_limits(layer, [use for of_file in of_layer for use in of_file])


def _others_below(folder: Path, sources: Sequence[Source]) -> Iterator[tuple[Source, tuple[JobUse, ...]]]:
    """What the jobs ask for in all other files below a folder that are without errors."""
    known = {real_path(Path(source.file)) for source in sources}
    below = read_sources([folder], may_be_none=True)
    others = {source.file: source for source in below if real_path(Path(source.file)) not in known}
    checker = Checker(is_guarded=False)
    checker.read_defaults(others.values())
    read = dict(zip(others, map_items(partial(_read, checker), [*others.values()]), strict=True))
    checked = checker.check_together(CheckedFile(others[file], result) for file, (result, _) in read.items())
    return ((file.source, read[file.source.file][1]) for file in checked.whole_files)


def _read(checker: Checker, source: Source) -> tuple[CheckResult, tuple[JobUse, ...]]:
    file = checker.check(source)
    return file.result, uses_of(file.documents) if file.is_whole else ()


def _is_under(source: Source, file: str) -> bool:
    return any(real_path(Path(layer.file)) == real_path(Path(file)) for layer in source.layers())

"""The sums that a tfgen.yaml limits: of all jobs below its folder, whichever of them a command is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tfgen.check.checked import Checked
from tfgen.check.jobs import check_all
from tfgen.check.limits import JobUse, find_sums_over_limits, layers_with_sums, uses
from tfgen.graph.built import build
from tfgen.job.sources import read_sources
from tfgen.problems import Problem
from tfgen.real_path import real_path
from tfgen.text.document import Document
from tfgen.workers import map_items


def find_sums(checked: Checked) -> Iterator[Problem]:
    """Each sum that is over a limit of a tfgen.yaml above the jobs.

    Raises:
        UsageError: another job below that tfgen.yaml cannot be read.
    """
    layers = {layer.file: layer for document in checked.whole for layer in layers_with_sums(document)}
    for layer in layers.values():
        documents = [
            document for document in _jobs_below(Path(layer.file).parent, checked) if _is_under(document, layer.file)
        ]
        yield from find_sums_over_limits(layer, [use for of_job in map_items(_uses, documents) for use in of_job])


def _jobs_below(folder: Path, checked: Checked) -> tuple[Document, ...]:
    """The jobs that are checked, and all others below a folder that are without errors."""
    known = {real_path(Path(source.file)) for source in checked.sources}
    sources = read_sources([folder], may_be_none=True)
    others = [source for source in sources if real_path(Path(source.file)) not in known]
    return (*checked.whole, *check_all(others, is_guarded=False).whole)


def _is_under(document: Document, file: str) -> bool:
    return any(real_path(Path(layer.file)) == real_path(Path(file)) for layer in document.layers())


def _uses(document: Document) -> tuple[JobUse, ...]:
    return uses(document, build(document.data))

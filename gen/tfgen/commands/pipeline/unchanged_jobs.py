"""Find the jobs that `tfgen check --changed` skips, because the jobs and their rendered files are unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tfgen.change.committed import find_committed
from tfgen.change.committed_jobs import committed_jobs
from tfgen.job.facts import name_of
from tfgen.job.sources import Source
from tfgen.text.document import Document
from tfgen.tree.write import read_ledgers


def unchanged_jobs(sources: Sequence[Source], out: Path, against: str) -> Callable[[Document], bool]:
    """Return a function that tests whether a job is unchanged since a revision.

    A job is unchanged if its job file, its defaults and its rendered files are the same as in the revision.

    Args:
        sources: the job files.
        out: the output folder.
        against: the revision to compare with.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    committed = find_committed(sources, against)
    committed_names = committed_jobs(out, against)(read_ledgers(out))

    def is_unchanged(document: Document) -> bool:
        return document.file in committed and name_of(document) in committed_names

    return is_unchanged

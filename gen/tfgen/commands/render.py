"""What `tfgen render` does with checked jobs: it writes their files, and removes those of removed jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.commands.removed_jobs import find_removed_jobs
from tfgen.job.sources import no_job_below
from tfgen.targets.render import render_document
from tfgen.text.document import Document
from tfgen.tree.plan import Plan
from tfgen.tree.write import apply, plan_write, read_ledgers


def write_jobs(
    paths: Sequence[Path], documents: Iterable[Document], out: Path, *, force: bool = False, upgrade: bool = False
) -> Plan:
    """Write all files of the jobs in some documents, and remove those of jobs that the paths have no more.

    Args:
        paths: the files and folders that were named.
        documents: the jobs in them, without errors.
        out: the output folder.
        force: whether files that were edited by hand are replaced.
        upgrade: whether a job is rendered anew where only tfgen or the defaults under it changed.

    Raises:
        UsageError: there is no job, and none was removed.
        ConflictsError: a file was edited by hand, and it is not `force`.
        TfgenError: the disk fails.
    """
    renderings = [render_document(document) for document in documents]
    removals = find_removed_jobs(read_ledgers(out), paths, {rendering.job for rendering in renderings})
    if not renderings and not removals:
        raise no_job_below(paths)
    return apply(plan_write(out, renderings + removals, force=force, upgrade=upgrade))

"""Find orphans: rendered files whose job no longer exists in any job file. GitOps tools still apply these files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tfgen.check.checked import Checked
from tfgen.commands.pipeline.job_files import find_job_files
from tfgen.commands.pipeline.removed_jobs import find_removed_jobs
from tfgen.errors import Position, Problem
from tfgen.git.tree import DISK, Tree
from tfgen.job.sources import source_name
from tfgen.tree.ledger import Ledgers, ledger_path

ORPHAN: Final = "orphan"

RULES: Final[Mapping[str, str]] = {
    ORPHAN: "The rendered files of a job remain in the repository, but no job file contains the job."
}
"""The summary of the rule, which begins the section of the rule in docs/rules.md."""


def find_orphans(
    checked: Checked,
    paths: Sequence[Path],
    out: Path,
    ledgers: Ledgers,
    removed_files: Collection[str] = (),
    tree: Tree = DISK,
) -> Iterator[Problem]:
    """Yield a problem for each job that was rendered from the paths and that is no longer in any job file.

    A job file with errors may still contain the job, so a job of such a file is not reported.

    Args:
        checked: the jobs in the files and folders.
        paths: the files and folders, which may be deleted.
        out: the output folder.
        ledgers: the ledgers of the output folder.
        removed_files: the paths of removed job files, as `last_job_files` returns.
        tree: the version of the files.

    Raises:
        UsageError: a path does not exist, and no job was rendered from this path.
        TfgenError: the disk cannot be read.
    """
    names = {name for file in checked.files for name in file.result.names}
    broken = {source_name(Path(problem.file)) for problem in checked.problems if problem.severity == "error"}
    for removed in find_removed_jobs(ledgers.sources, paths, names, removed_files):
        source = ledgers.sources[removed.job]
        if source not in broken and not find_job_files(removed.job, out, tree):
            yield _orphan(removed.job, source, out)


def _orphan(job: str, source: str, out: Path) -> Problem:
    message = (
        f"{source} no longer has the job {job}, but GitOps tools still apply its rendered files; to remove the files: "
        f"tfgen rm {job}; to keep the job, restore the job in {source}"
    )
    return Problem(os.path.relpath(out / ledger_path(job)), Position(1, 1), message, ORPHAN)

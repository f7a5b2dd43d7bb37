"""Orphans: what was rendered of a job is still there, and still applied, but no file has the job any more.

find_orphans(checked, [Path("jobs")], out)
    ->  Problem(".tfgen/mnist.json", ... "the job mnist is gone from jobs/mnist.yaml, ...", "orphan")
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tfgen.check.checked import Checked
from tfgen.commands.pipeline.job_files import files_of
from tfgen.commands.pipeline.removed_jobs import find_removed_jobs
from tfgen.job.sources import source_name
from tfgen.problems import Position, Problem
from tfgen.tree.ledger import ledger_path
from tfgen.tree.ledgers import Ledgers

ORPHAN: Final = "orphan"

RULES: Final[Mapping[str, str]] = {ORPHAN: "No file has a job any more, and what was rendered of it is still applied."}
"""What each rule says; it begins the rule's section of docs/rules.md."""


def find_orphans(checked: Checked, paths: Sequence[Path], out: Path, ledgers: Ledgers) -> Iterator[Problem]:
    """A problem for each job that some files and folders had, and that no file of the repository has any more.

    A file with errors may hold any job, so none of its jobs is an orphan.

    Args:
        checked: the jobs in the files and folders.
        paths: those, which may be gone.
        out: the output folder.
        ledgers: of all jobs that were rendered there.

    Raises:
        UsageError: a path is not there, and no job came of it.
        TfgenError: the disk cannot be read.
    """
    names = {name for file in checked.files for name in file.result.names}
    broken = {source_name(Path(problem.file)) for problem in checked.problems if problem.severity == "error"}
    for removed in find_removed_jobs(ledgers.sources, paths, names):
        source = ledgers.sources[removed.job]
        if source not in broken and not files_of(removed.job, out):
            yield _orphan(removed.job, source, out)


def _orphan(job: str, source: str, out: Path) -> Problem:
    message = (
        f"the job {job} is gone from {source}, and what was rendered of it is still applied; "
        f"to end it: tfgen rm {job}; to go on with it, put it back into {source}"
    )
    return Problem(os.path.relpath(out / ledger_path(job)), Position(1, 1), message, ORPHAN)

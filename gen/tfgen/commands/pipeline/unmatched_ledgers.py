"""Report ledgers whose job was not checked. A pull request could add such a ledger to hide any file from the check.

An unchanged committed ledger is no problem, because its job may be in a folder that the check does not read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tfgen.check.files import NOT_REPRODUCED
from tfgen.commands.pipeline.job_files import find_job_files
from tfgen.commands.pipeline.orphans import ORPHAN
from tfgen.errors import Position, Problem
from tfgen.git.tree import Tree
from tfgen.tree.ledger import ledger_path


def find_unmatched_ledgers(
    out: Path, tree: Tree, ledgers: Collection[str], checked: Collection[str], branches: Mapping[str, str], reason: str
) -> Iterator[Problem]:
    """Yield a problem for each ledger of an unchecked job, or of a job with a separate branch for its rendered files.

    Args:
        out: the output folder.
        tree: the version of the files.
        ledgers: the names of the jobs whose ledgers the function reads.
        checked: the names of all checked jobs, including jobs with errors.
        branches: the branch for the rendered files of each job with `gitops.rendered`, by the name of the job.
        reason: a part of each message, such as "this ledger lists rendered files of the job".

    Raises:
        UsageError: a file of the repository cannot be read.
    """
    for job in sorted(ledgers):
        path = ledger_path(job)
        if job in branches:
            message = (
                f"the rendered files of {job} belong to the branch {branches[job]} (gitops.rendered), and {reason}; "
                f"remove {path} and the files in this ledger from this branch"
            )
            yield Problem(os.path.relpath(out / path), Position(1, 1), message, NOT_REPRODUCED)
        elif job not in checked and (files := find_job_files(job, out, tree)):
            message = f"{files[0]} has the job {job}, and {reason}; add {files[0]} to the arguments of tfgen check"
            yield Problem(os.path.relpath(out / path), Position(1, 1), message, NOT_REPRODUCED)
        elif job not in checked:
            message = (
                f"no file of the repository has the job {job}, and {reason}; "
                f"to remove {path} and the files in this ledger: tfgen rm {job}"
            )
            yield Problem(os.path.relpath(out / path), Position(1, 1), message, ORPHAN)

"""Ledgers of changed jobs that a check does not read: whoever writes such a ledger could list any file in it.

    find_strange_ledgers(out, ledgers, {"mnist"}, {}, "origin/main")
        ->  Problem(".tfgen/ghost.json", ... "no file of the repository has the job ghost, ...", "orphan")

A ledger that is as committed is no problem: its job may be in a folder that the check does not look at.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tfgen.check.files import NOT_REPRODUCED
from tfgen.commands.pipeline.job_files import files_of
from tfgen.commands.pipeline.orphans import ORPHAN
from tfgen.problems import Position, Problem
from tfgen.tree.ledger import ledger_path


def find_strange_ledgers(
    out: Path, ledgers: Collection[str], checked: Collection[str], branches: Mapping[str, str], differs: str
) -> Iterator[Problem]:
    """Yield a problem for each ledger that no checked job accounts for.

    Args:
        out: the output folder.
        ledgers: the names of the jobs whose files differ.
        checked: the names of the jobs that are compared with their files, and of those with an error.
        branches: the branch that a job's files are in, by name, where they are not beside the job.
        differs: the difference, in words.

    Raises:
        UsageError: a file of the repository cannot be read.
    """
    for job in sorted(ledgers):
        path = ledger_path(job)
        if job in branches:
            message = (
                f"the files of {job} are kept in the branch {branches[job]} (gitops.rendered), and {differs}; "
                f"remove {path}, and the files that it lists, from this branch"
            )
            yield Problem(os.path.relpath(out / path), Position(1, 1), message, NOT_REPRODUCED)
        elif job not in checked and (files := files_of(job, out)):
            message = f"{files[0]} has the job {job}, and {differs}; name this file to tfgen check, too"
            yield Problem(os.path.relpath(out / path), Position(1, 1), message, NOT_REPRODUCED)
        elif job not in checked:
            message = (
                f"no file of the repository has the job {job}, and {differs}; "
                f"remove {path}, and the files that it lists: tfgen rm {job}"
            )
            yield Problem(os.path.relpath(out / path), Position(1, 1), message, ORPHAN)

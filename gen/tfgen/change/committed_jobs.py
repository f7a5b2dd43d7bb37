"""The jobs whose rendered files are as a commit has them.

    committed_jobs(Path("."), "origin/main")(ledgers)  ->  frozenset({"mnist", ...})

A version or a digest in a ledger proves nothing, since a change of a rendered file can change the ledger as well. Git
alone decides: the ledger, and each file that the ledger lists, has the content that the commit has. A file of several
jobs does not count, because the render of one job writes the file for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from tfgen.git import read as git
from tfgen.places import CHARTS, OVERLAYS, is_shared
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, ledger_path
from tfgen.tree.plan import FindCommitted

FindNames: TypeAlias = Callable[[], set[str]]
"""Gives names of files, for which git is asked once."""


def committed_jobs(out: Path, revision: str, find_changed: FindNames | None = None) -> FindCommitted:
    """Return a function that finds the jobs. Git is asked when the function is called first.

    Args:
        out: the output folder.
        revision: the commit.
        find_changed: what `changed_files` gives for the same arguments, if a caller has it.
    """
    ledger_names = cache(partial(git.committed_names, out / LEDGER_FOLDER, revision))
    return partial(_find, ledger_names, find_changed or changed_files(out, revision))


def changed_files(out: Path, revision: str) -> FindNames:
    """Return a function that gives the rendered files that differ from a commit, by their paths from a folder."""
    return cache(partial(git.changed, out, revision, places=(CHARTS, OVERLAYS, LEDGER_FOLDER)))


def _find(ledger_names: FindNames, changed: FindNames, ledgers: Mapping[str, Ledger]) -> frozenset[str]:
    """Find the jobs.

    Args:
        ledger_names: gives the names of the ledgers that the commit has.
        changed: gives the rendered files that differ from the commit.
        ledgers: the ledgers on disk, by job.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git or the disk fails.
    """
    names = ledger_names()
    jobs = frozenset(job for job in ledgers if ledger_path(job).rpartition("/")[2] in names)
    changes = {path for path in changed() if not is_shared(path)} if jobs else set()
    if not changes:
        return jobs
    return frozenset(job for job in jobs if changes.isdisjoint((ledger_path(job), *ledgers[job].files)))

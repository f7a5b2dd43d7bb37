"""The jobs whose rendered files equal the files of a commit.

    committed_jobs(Path("."), "origin/main")(ledgers)  ->  frozenset({"mnist", ...})

A version or a digest in a ledger is no proof, because a change of a rendered file can change the ledger as well. Only
git decides: the ledger, and each file in the ledger, must have the content of the commit. A file that several jobs
share does not count, because the render of a single job writes the shared file.
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
"""Function that returns names of files and runs git only at the first call."""


def committed_jobs(out: Path, revision: str, find_changed: FindNames | None = None) -> FindCommitted:
    """Return a function that finds the jobs. The first call of the function runs git.

    Args:
        out: output folder.
        revision: commit to compare with.
        find_changed: result of `changed_files` for the same arguments, if the caller has the result.
    """
    ledger_names = cache(partial(git.committed_names, out / LEDGER_FOLDER, revision))
    return partial(_find, ledger_names, find_changed or changed_files(out, revision))


def changed_files(out: Path, revision: str) -> FindNames:
    """Return a function that returns the rendered files that differ from a commit, as paths relative to a folder."""
    return cache(partial(git.changed, out, revision, places=(CHARTS, OVERLAYS, LEDGER_FOLDER)))


def _find(ledger_names: FindNames, changed: FindNames, ledgers: Mapping[str, Ledger]) -> frozenset[str]:
    """Find the jobs.

    Args:
        ledger_names: returns the names of the ledgers in the commit.
        changed: returns the rendered files that differ from the commit.
        ledgers: ledgers on disk, by job.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git or the disk fails.
    """
    names = ledger_names()
    jobs = frozenset(job for job in ledgers if ledger_path(job).rpartition("/")[2] in names)
    changes = {path for path in changed() if not is_shared(path)} if jobs else set()
    if not changes:
        return jobs
    return frozenset(job for job in jobs if changes.isdisjoint((ledger_path(job), *ledgers[job].files)))

"""The jobs that are unchanged since a commit: their job files, and their rendered files.

The digests in a ledger do not prove that the rendered files are unchanged, because a commit can change a file and its
digest together. So tfgen asks git whether the ledger, and each file that the ledger lists, equal the files of the
commit. tfgen ignores the files that several jobs share, such as the GitRepository of Flux, because a changed shared
file does not mean that all these jobs have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from tfgen.git.tree import DISK, CommitTree, Tree
from tfgen.job.sources import Source, read_files
from tfgen.places import CHARTS, OVERLAYS, is_shared
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, ledger_path
from tfgen.tree.plan import FindCommitted

FindNames: TypeAlias = Callable[[], set[str]]
"""Function that returns names of files. The first call runs git, and later calls return the same names."""


def find_committed(sources: Sequence[Source], revision: str) -> set[str]:
    """Return the names of the job files that are unchanged since a revision, together with all their layers.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    now = {source.file: source.identity for source in sources}
    return {before.file for before in read_files(now, CommitTree(revision)) if before.identity == now[before.file]}


def committed_jobs(out: Path, revision: str, find_changed: FindNames | None = None, tree: Tree = DISK) -> FindCommitted:
    """Return a function that finds the jobs whose rendered files are unchanged since a commit.

    The function takes the ledger of each job in `tree`, by job name, and returns the names of the unchanged jobs. Only
    the first call of the function runs git.

    Args:
        out: output folder.
        revision: commit to compare with.
        find_changed: function that returns the paths of the changed files, relative to `out`, for a caller that already
            knows the paths; None to use `changed_files`.
        tree: the version of the rendered files.
    """
    ledger_names = cache(lambda: {*CommitTree(revision).names(out / LEDGER_FOLDER)})
    return partial(_find, ledger_names, find_changed or changed_files(out, revision, tree))


def changed_files(out: Path, revision: str, tree: Tree = DISK) -> FindNames:
    """Return a function that lists the files in `charts`, `overlays` and `.tfgen` that differ from a commit.

    Each listed path is relative to the output folder `out`.
    """
    return cache(partial(tree.changed, out, revision, (CHARTS, OVERLAYS, LEDGER_FOLDER)))


def jobs_with_changed_overlays(changed: Iterable[str]) -> set[str]:
    """Return the names of the jobs whose overlays have changed. `changed` is the result of a function of this module.

    For a shared file, the result contains the name of the folder, such as `flux`.
    """
    parts = (path.split("/") for path in changed)
    return {words[1] for words in parts if words[0] == OVERLAYS and len(words) > 1}


def _find(ledger_names: FindNames, changed: FindNames, ledgers: Mapping[str, Ledger]) -> frozenset[str]:
    """Return the names of the jobs whose ledger and rendered files equal the files of the commit.

    Args:
        ledger_names: function that returns the names of the ledgers in the commit.
        changed: function that returns the rendered files and ledgers that differ from the commit.
        ledgers: ledger of each job, by job name.

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

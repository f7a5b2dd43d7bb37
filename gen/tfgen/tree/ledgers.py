"""The ledgers of all jobs in an output folder. Only a few ledgers are in memory at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial

from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Tree
from tfgen.places import is_in_job_folder
from tfgen.tree.files import digest_of
from tfgen.tree.folder import ReadableFolder, open_tree
from tfgen.tree.ledger import (
    LEDGER_FOLDER,
    LEDGER_READ,
    Ledger,
    LedgerConflictError,
    job_of,
    ledger_path,
    parse_checked_ledger,
    parse_ledger,
)

_MOST: int = 8
"""Maximum number of cached ledgers. A ledger has some 20 KB. A command reads each ledger several times in a row."""


class Ledgers(Mapping[str, Ledger]):
    """The ledgers of all jobs in an output folder, as a mapping. The keys are the sorted names of the jobs.

    The constructor reads every ledger, but stores only the digest and the source of each ledger. An access to a ledger
    reads the file again, unless the ledger is in the small cache of recently read ledgers.

    Args:
        folder: the open output folder.
        tree: the version of the repository that `folder` reads.

    Raises:
        LedgerConflictError: a merge left conflicts in ledgers.
        TfgenError: files are not valid ledgers, and the message names each such file. A later access raises this error
            if the ledger has changed.

    Attributes:
        digests: the digest of the text of each ledger, by name of the job.
        sources: the path of each job file from the root of the repository, by name of the job.
    """

    def __init__(self, folder: ReadableFolder, tree: Tree = DISK) -> None:
        self._open = partial(open_tree, folder.path, tree)
        self.digests: dict[str, str] = {}
        self.sources: dict[str, str] = {}
        self._owners: dict[str, tuple[str, ...]] = {}
        self._read = lru_cache(maxsize=_MOST)(self._read_again)
        faults: list[str] = []
        conflicts: dict[str, str] = {}
        for name in folder.names(LEDGER_FOLDER):
            if (job := job_of(name)) is not None:
                try:
                    self._add(job, folder.read_text(ledger_path(job), LEDGER_READ))
                except LedgerConflictError as error:
                    conflicts |= error.sources
                except TfgenError as error:
                    faults.append(str(error))
        if conflicts and not faults:
            raise LedgerConflictError(conflicts)
        faults += [str(LedgerConflictError(conflicts))] if conflicts else []
        if faults:
            raise TfgenError("\n".join(faults))

    def owners(self, path: str) -> tuple[str, ...]:
        """Return the names of the jobs whose ledgers list `path`.

        The result is empty for a path in the folder of a job, such as `charts/mnist/Chart.yaml`. The comparison of
        paths ignores upper and lower case.
        """
        return self._owners.get(path.casefold(), ())

    def lists(self, path: str) -> bool:
        """Return whether the ledger of any job lists the file with this path."""
        _, _, inside = path.partition("/")
        jobs = (inside.partition("/")[0], *self.owners(path))
        return any(path in self[job].files for job in jobs if job in self)

    def files_now(self, job: str) -> Iterable[str]:
        """Return the files that the ledger of a job lists, even if the ledger has changed; empty without a ledger."""
        with self._open() as folder, suppress(TfgenError):
            return parse_ledger(job, folder.read_text(ledger_path(job), LEDGER_READ)).files
        return ()

    def shared_paths(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each path outside the folders of the jobs, with the names of the jobs whose ledgers list the path.

        The paths are in lower case. Example: ("overlays/argocd/mnist-prod.yaml", ("mnist",)).
        """
        return iter(self._owners.items())

    def __getitem__(self, job: str) -> Ledger:
        if job not in self.digests:
            raise KeyError(job)
        return self._read(job)

    def __iter__(self) -> Iterator[str]:
        return iter(self.digests)

    def __len__(self) -> int:
        return len(self.digests)

    def __contains__(self, job: object) -> bool:
        return job in self.digests

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Ledgers) and self.digests == value.digests

    __hash__ = None  # type: ignore[assignment]  # a mapping is not hashable

    def _add(self, job: str, text: str) -> None:
        ledger = parse_ledger(job, text)
        self.digests[job] = digest_of(text)
        self.sources[job] = ledger.source
        for path in ledger.paths():
            if not is_in_job_folder(job, path):
                self._owners[path.casefold()] = (*self.owners(path), job)

    def _read_again(self, job: str) -> Ledger:
        with self._open() as folder:
            text = folder.read_text(ledger_path(job), LEDGER_READ)
        if digest_of(text) != self.digests[job]:
            raise TfgenError(
                f"{ledger_path(job)}: another program changed the ledger while tfgen ran; run the command again"
            )
        return parse_checked_ledger(text)

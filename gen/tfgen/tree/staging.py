"""The rendered files of jobs, in a staging folder until the write renames or drops them.

    with Staging(Path("."), is_inside=True) as staging:
        renderings = [staging.add(render(document)) for document in documents]
        renderings[0].read().tree.files["charts/mnist/Chart.yaml"]

Usually, only the rendered files that differ from the files on disk are in the staging folder. Paths, digests and plans
are in the folder too, because they would need 13 KiB of memory for a job with 68 files. A forked process writes to the
same staging folder, and returns only a `Staged`, the path of a value.

`tfgen render` has its staging folder inside of the output folder, as `.tfgen/.tfgen-5f70bf18a0c9d1e2.tmp`, so that a
rename moves a file to its place. Any other command has its staging folder in the system's folder for temporary files.
The process has a lock on its staging folder. The next write removes a staging folder without a lock, which a killed
process left in the output folder.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Generic, NamedTuple, Self, TypeVar

from tfgen import __version__
from tfgen.disk_file import errors_at, open_folder, read_file, temporary_name
from tfgen.errors import TfgenError
from tfgen.record import Record
from tfgen.tree.files import FileTree, checked_tree, digest_of
from tfgen.tree.folder import OutputFolder
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger

_Value = TypeVar("_Value")

_PRIVATE: Final = 0o700


class NumberedFile(Record):
    """A rendered file that contains a revision number, such as ``Chart.yaml``.

    The number rises by one whenever `digest` changes.

    Attributes:
        digest: a digest of the rendered content without the number, such as all files of a chart. A new digest causes a
            new number.
        head: the text of the file before the number.
        tail: the text of the file after the number.
    """

    path: str
    digest: str
    head: str
    tail: str

    def text(self, number: int) -> str:
        """Return the text of the file with the revision number `number`."""
        return f"{self.head}{number}{self.tail}"

    def number(self, before: Ledger | None) -> int:
        """Return the revision number of the new file: the number in `before`, plus one if `digest` has changed.

        `before` is the ledger of the earlier render. Without this ledger, or without a revision in it, return 0.
        """
        if before is None or not before.revised_digest:
            return 0
        return before.revision + (before.revised_digest != self.digest)


class Rendering(Record):
    """The files of one rendered job. A write of an empty tree removes the files and the ledger of the job.

    Attributes:
        shared: the paths that several jobs may have. tfgen removes a shared file when no job has the file any longer.
        source: the path of the job file from the root of the repository.
        revision: the file that contains a revision number; None if no file of the job contains a revision number.
        number: the revision number in the tree; 0 until `with_revision_number` sets the number.
        earlier_revised_digest: the field `revised_digest` of the ledger of the earlier render. If `revision` is None,
            the new ledger contains the same digest. Empty until `with_revision_number` sets the digest.
        place: the folder of the files in the staging folder; empty for files in memory.
    """

    job: str
    tree: FileTree
    input_digest: str
    defaults_digest: str = ""
    shared: frozenset[str] = frozenset()
    source: str = ""
    revision: NumberedFile | None = None
    number: int = 0
    earlier_revised_digest: str = ""
    place: str = ""

    def with_revision_number(self, before: Ledger | None) -> Rendering:
        """Return a copy of the rendering with the correct revision number, which depends on the earlier render.

        If `revision` is None, the copy only stores the number and the `revised_digest` of the earlier ledger.

        Args:
            before: the ledger of the earlier render; None for the first render.
        """
        if self.revision is None:
            if before is None:
                return self
            return self.replaced(number=before.revision, earlier_revised_digest=before.revised_digest)
        number = self.revision.number(before)
        if number == self.number:
            return self
        tree = self.tree.with_text(self.revision.path, self.revision.text(number))
        return self.replaced(tree=tree, number=number)

    def ledger(self) -> Ledger:
        """Return the ledger that the job has after a complete write of the rendering."""
        revised = self.revision.digest if self.revision else self.earlier_revised_digest
        return Ledger(
            __version__,
            self.input_digest,
            self.tree.digests,
            None,
            self.defaults_digest,
            self.source,
            self.number,
            revised,
        )


class Staged(NamedTuple, Generic[_Value]):
    """A value in a staging folder. Forked processes can read the value as well."""

    file: str

    def read(self) -> _Value:
        """Read the value from the disk, and return the value."""
        import pickle  # the import takes 2 ms, and most commands do not need it

        value: _Value = pickle.loads(Path(self.file).read_bytes())  # noqa: S301  # only this user can write there
        return value


def unstaged(value: _Value | Staged[_Value]) -> _Value:
    """Return a value that may be in a staging folder. Each call reads such a value from the disk again."""
    return value.read() if isinstance(value, Staged) else value


class _Texts(Mapping[str, str]):
    """The texts of a rendering, by path: from the staging folder, or from an equal file in the output folder."""

    def __init__(self, staged: Path, out: Path, digests: Mapping[str, str]) -> None:
        self._staged = str(staged)
        self._out = str(out)
        self._digests = digests

    def __len__(self) -> int:
        return len(self._digests)

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __contains__(self, path: object) -> bool:
        return path in self._digests

    def __getitem__(self, path: str) -> str:
        digest = self._digests[path]
        for folder in (self._staged, self._out):
            with suppress(TfgenError, UnicodeDecodeError):
                text = read_file(Path(folder, path)).decode()
                if digest_of(text) == digest:
                    return text
        raise TfgenError(f"{path}: another program changed the file while tfgen ran; run the command again")


class Staging:
    """A staging folder for the rendered files of jobs. The context manager removes the folder.

    Args:
        out: the output folder, which need not exist yet.
        is_inside: whether the staging folder is inside of the output folder, for a command that writes the files. If
            the output folder accepts no new folder, the staging folder is elsewhere.
        has_all: whether to stage also the files that equal the files in the output folder, for a command that needs the
            texts after a change of the output folder.
    """

    def __init__(self, out: Path, *, is_inside: bool, has_all: bool = False) -> None:
        self.out = out
        self._has_all = has_all
        self.place = f"{LEDGER_FOLDER}/{temporary_name()}" if is_inside else ""
        """The path of the staging folder from the output folder; empty for a folder elsewhere."""
        self._folder: OutputFolder | None = None
        self._lock = -1
        self._created: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is None:
            return
        folder, self._folder = self._folder, None
        folder.__exit__(None, None, None)
        try:
            with suppress(OSError):  # the next write removes the rest
                for parent, _folders, names in os.walk(folder.path, topdown=False):
                    for name in names:
                        Path(parent, name).unlink()
                    Path(parent).rmdir()
        finally:
            os.close(self._lock)
        for created in reversed(self._created):
            with suppress(OSError):
                created.rmdir()  # refuses a folder with content

    def begin(self) -> OutputFolder:
        """Create the staging folder if it does not exist yet. Call this function before a fork.

        Raises:
            TfgenError: no disk accepts the folder.
        """
        if self._folder is None and self.place:
            with suppress(TfgenError):  # for example on a disk without write access
                return self.begin_inside()
        if self._folder is None:
            self.place = ""
            parent = Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108  # tempfile takes 10 ms to import
            self._folder = self._begin_in(parent / f"tfgen-{os.urandom(8).hex()}")
        return self._folder

    def begin_inside(self) -> OutputFolder:
        """Create the staging folder inside of the output folder, which no lock of this process may cover.

        Raises:
            TfgenError: the disk fails, or another tfgen process locked the output folder for LOCK_WAIT_S seconds.
        """
        if self._folder is None:
            parents = (*reversed(self.out.parents), self.out, self.out / LEDGER_FOLDER)
            self._created = [folder for folder in parents if not folder.exists()]
            # The lock prevents another process from removing the folder before it is locked.
            with OutputFolder(self.out, create=True) as out, out.locked(shared=True, make=True):
                self._folder = self._begin_in(self.out / self.place)
        return self._folder

    def _begin_in(self, path: Path) -> OutputFolder:
        with errors_at(path.parent):
            path.mkdir(_PRIVATE)
            self._lock = open_folder(str(path))
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            return OutputFolder(path).__enter__()

    def add(self, rendering: Rendering) -> Staged[Rendering]:
        """Stage the files of a rendering that differ from the files in the output folder.

        Raises:
            TfgenError: the disk fails.
        """
        folder, place, tree = self.begin(), os.urandom(8).hex(), rendering.tree
        texts = tree.files
        if not self._has_all:
            with OutputFolder(self.out) as out:
                on_disk = out.states(tree.files)
            texts = {path: text for path, text in texts.items() if on_disk[path].digest != tree.digests[path]}
        folder.write({f"{place}/{path}": text for path, text in texts.items()})
        staged = checked_tree(_Texts(folder.path / place, self.out, tree.digests), tree.digests)
        return self.store(rendering.replaced(tree=staged, place=place))

    def store(self, value: _Value) -> Staged[_Value]:
        """Write a value to the staging folder.

        Raises:
            TfgenError: the disk fails.
        """
        import pickle  # the import takes 2 ms, and most commands do not need it

        file = self.begin().path / f"{os.urandom(8).hex()}.pickle"
        with errors_at(file):
            file.write_bytes(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        return Staged(str(file))

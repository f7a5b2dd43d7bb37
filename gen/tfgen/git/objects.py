"""Read commits, folders and files of a git repository through one running git process.

    with object_reader(Path("/src")) as reader:
        commit = reader.commit("HEAD")
        entry = reader.entry(commit.tree, "jobs/mnist/job.yaml")
        reader.blobs([entry.object_id])

The start of a git process takes some milliseconds, and a request to a running process a tenth of a millisecond. Inside
the block of `shared_readers`, all calls for a repository use the same process.

The format of the requests and answers: https://git-scm.com/docs/git-cat-file#_batch_output. The format of a tree:
https://git-scm.com/book/en/v2/Git-Internals-Git-Objects#_tree_objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from tfgen.errors import TfgenError
from tfgen.git.command import Done, Git
from tfgen.record import Record

if TYPE_CHECKING:
    import subprocess

_AT_ONCE: Final = 60
"""Maximum number of requests before the answers are read. 60 requests of 65 bytes fit in the smallest pipe of Linux,
which has 4096 bytes, so git never waits for tfgen while tfgen waits for git."""

_FATAL: Final = 128
"""The exit code of git after a fatal error: https://git-scm.com/docs/api-error-handling."""

_FOLDER: Final = b"40000"
_FILES: Final = b"100"
"""The mode of a folder in a tree, and the first digits of the modes of regular files."""


class Commit(Record):
    """A commit: its id, and the id of its root folder."""

    commit_id: str
    tree: str


class Entry(Record):
    """A file, a symbolic link, a submodule or a folder in a commit.

    Attributes:
        mode: the mode in octal digits, such as 100644.
        object_id: the id of the blob, the commit or the tree.
    """

    mode: bytes
    object_id: str

    @property
    def is_folder(self) -> bool:
        """Return whether the entry is a folder."""
        return self.mode == _FOLDER

    @property
    def is_file(self) -> bool:
        """Return whether the entry is a regular file. A symbolic link is not a regular file."""
        return self.mode.startswith(_FILES)


class ObjectReader:
    """A running ``git cat-file --batch``. The process starts with the first request.

    Args:
        root: a folder of the repository.
    """

    def __init__(self, root: Path) -> None:
        self._command = Git(root, ("cat-file", "--batch"))
        self._process: subprocess.Popen[bytes] | None = None
        self._folders: dict[str, Mapping[str, Entry]] = {}

    def close(self) -> None:
        """End the process. A later request starts a new process."""
        process, self._process = self._process, None
        if process:
            process.__exit__(None, None, None)  # closes the pipes, and waits until git ends at the end of its input

    def commit(self, revision: str) -> Commit | None:
        """Return the commit of a revision; None if the revision or the repository is missing.

        Raises:
            TfgenError: git fails.
        """
        if revision.startswith(("-", "^")) or "\n" in revision:  # git reads -x as an option, and ^x as an exclusion
            return None
        answers = self._request([os.fsencode(f"{revision}^{{commit}}")])
        if not answers:
            return None
        ((commit_id, content),) = answers
        return None if content is None else Commit(commit_id, content[5 : content.index(b"\n")].decode())  # "tree ID"

    def entry(self, tree: str, path: str) -> Entry | None:
        """Return the entry of a path in the folder with the id `tree`; None if the folder lacks the path.

        Raises:
            TfgenError: git fails.
        """
        entry: Entry | None = Entry(_FOLDER, tree)
        for name in Path(path).parts:
            entry = self.folder(entry.object_id).get(name) if entry and entry.is_folder else None
        return entry

    def folder(self, tree: str) -> Mapping[str, Entry]:
        """Return the entries of the folder with the id `tree`, by name. The result excludes the content of subfolders.

        Raises:
            TfgenError: git fails.
        """
        if tree not in self._folders:
            self._folders[tree] = _parse_tree(self._content(tree), len(tree) // 2)
        return self._folders[tree]

    def files_below(self, tree: str) -> Iterator[tuple[str, Entry]]:
        """Yield the path and the entry of each file below the folder with the id `tree`.

        Raises:
            TfgenError: git fails.
        """
        for name, entry in self.folder(tree).items():
            if entry.is_folder:
                yield from ((f"{name}/{path}", file) for path, file in self.files_below(entry.object_id))
            else:
                yield name, entry

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of blobs, by the id of the blob.

        Raises:
            TfgenError: git fails, or a blob is missing, as in a partial clone.
        """
        unique = [*dict.fromkeys(ids)]
        parts = (unique[start : start + _AT_ONCE] for start in range(0, len(unique), _AT_ONCE))
        return {blob: content for part in parts for blob, content in zip(part, self._contents(part), strict=True)}

    def _content(self, object_id: str) -> bytes:
        (content,) = self._contents([object_id])
        return content

    def _contents(self, ids: list[str]) -> Iterator[bytes]:
        root = self._command.folder
        answers = self._request([object_id.encode() for object_id in ids])
        if answers is None:
            raise TfgenError(f"{root}: git ended before it read the object {ids[0]}")
        for object_id, (_, content) in zip(ids, answers, strict=True):
            if content is None:
                raise TfgenError(
                    f"{root}: the repository lacks the content of the object {object_id}; make a complete clone of the "
                    "repository, and run the command there"
                )
            yield content

    def _request(self, names: list[bytes]) -> list[tuple[str, bytes | None]] | None:
        """Return the id and the content of each object; the content of a missing object is None.

        The result is None if the repository is missing, or if git ends because a name is not valid.
        """
        process = self._process = self._process or self._command.start()
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        answers = []
        try:
            stdin.write(b"".join(name + b"\n" for name in names))
            stdin.flush()
            for _ in names:
                words = stdout.readline().split()  # ID TYPE SIZE, or NAME missing
                if not words:
                    raise BrokenPipeError
                size = words[-1]
                content = stdout.read(int(size) + 1)[:-1] if size.isdigit() else None  # a newline ends the content
                answers.append((words[0].decode(), content))
        except BrokenPipeError:
            self._check_failure(process)
            return None
        return answers

    def _check_failure(self, process: subprocess.Popen[bytes]) -> None:
        """Check why git ended: the folder is not in a repository, or git stopped at a revision that does not exist.

        Raises:
            TfgenError: git ended for any other reason, or cannot read the repository.
        """
        self._process = None
        _, stderr = process.communicate()
        done = Done(process.returncode, b"", stderr.decode("utf-8", errors="replace"))
        repository = Git(self._command.folder, ("rev-parse", "--git-dir"))
        answer = repository.done()
        if answer.code and "not a git repository" not in answer.stderr:
            raise repository.failure(answer)
        if done.code != _FATAL:
            raise self._command.failure(done)


_SHARED: Final[ContextVar[dict[tuple[int, Path], ObjectReader] | None]] = ContextVar("shared readers", default=None)
"""The shared readers, by process id and repository; None outside of the block of `shared_readers`."""


@contextmanager
def shared_readers() -> Iterator[None]:
    """Use one git process for all reads of a repository until the end of the `with` block."""
    readers: dict[tuple[int, Path], ObjectReader] = {}
    token = _SHARED.set(readers)
    try:
        yield
    finally:
        _SHARED.reset(token)
        for (process_id, _), reader in readers.items():
            if process_id == os.getpid():
                reader.close()


@contextmanager
def object_reader(root: Path) -> Iterator[ObjectReader]:
    """Yield a reader of a repository: the shared reader inside the block of `shared_readers`, or else a new reader."""
    readers = _SHARED.get()
    if readers is None:
        reader = ObjectReader(root)
        try:
            yield reader
        finally:
            reader.close()
    else:
        # A forked process has its own reader, because the answers on a shared pipe could go to the wrong process.
        yield readers.setdefault((os.getpid(), root), ObjectReader(root))


def _parse_tree(content: bytes, id_length: int) -> dict[str, Entry]:
    """Return the entries of a tree, by name. Each entry is ``MODE NAME``, a NUL byte, and the bytes of the id."""
    entries = {}
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        nul = content.index(b"\0", space)
        after = nul + 1 + id_length
        entries[os.fsdecode(content[space + 1 : nul])] = Entry(content[at:space], content[nul + 1 : after].hex())
        at = after
    return entries

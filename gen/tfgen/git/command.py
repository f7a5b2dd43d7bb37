"""Run git commands, and read commits, folders and files of a repository through one running git process.

    with object_reader(Path("/src")) as reader:
        commit = reader.commit("HEAD")
        entry = reader.entry(commit.tree, "jobs/mnist/job.yaml")
        reader.blobs([entry.object_id])

The start of a git process takes some milliseconds. A request to a running process takes a tenth of a millisecond.
Inside the block of `shared_readers`, all calls for a repository use the same process. If the process ends early, a git
command for the single object returns the content, or an error with git's reason.

For the format of the requests and answers, see https://git-scm.com/docs/git-cat-file#_batch_output. For the format of
a tree, see https://git-scm.com/book/en/v2/Git-Internals-Git-Objects#_tree_objects.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from tfgen.errors import TfgenError, UsageError
from tfgen.record import Record

if TYPE_CHECKING:
    import subprocess


# -- commands ----------------------------------------------------------------------------------------------------------


_INDEX: Final = "GIT_INDEX_FILE"
"""The variable with the path of the index. During `git commit --only`, the index of a hook is a temporary file."""

# git sets these variables for hooks. A tfgen that a hook starts must not use the paths of the hook's repository.
_OF_A_HOOK: Final = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        _INDEX,
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)

# LC_ALL: tfgen parses English messages. GIT_OPTIONAL_LOCKS: `git status` must not lock the index.
# GIT_NO_REPLACE_OBJECTS: a replaced object (refs/replace) is another object than the object that a GitOps tool reads.
_ENVIRONMENT: Final = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1"}

_CHUNK: Final = 500
"""Maximum number of paths on one command line."""


class Done(Record):
    """The result of a git command."""

    code: int
    stdout: bytes
    stderr: str


class Git(Record):
    """A git command that runs in a folder. `str(command)` returns the command line for a shell.

    Attributes:
        stdin: the standard input of the command.
        runs_hooks: whether the command may run git hooks. Such a command uses the user's locale. All other commands
            print English messages, and take a `*` in a path literally.
        uses_index_of_hook: whether the command uses the index of the git hook that started tfgen, if any.
    """

    folder: Path
    arguments: tuple[str, ...]
    stdin: bytes = b""
    runs_hooks: bool = False
    uses_index_of_hook: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """Return the program name and the arguments."""
        options = () if self.runs_hooks else ("--literal-pathspecs",)
        return ("git", "-C", str(self.folder), *options, *self.arguments)

    def start(self, *, has_errors: bool = True) -> subprocess.Popen[bytes]:
        """Start the command with pipes to its standard input, standard output and standard error.

        Args:
            has_errors: False to discard the standard error, for a caller that does not read the pipe of the standard
                error. git blocks if the pipe is full.

        Raises:
            TfgenError: git cannot start.
        """
        import subprocess  # the import takes 3 ms, and `tfgen render` runs no git command

        left_out = _OF_A_HOOK - {_INDEX} if self.uses_index_of_hook else _OF_A_HOOK
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        environment |= {} if self.runs_hooks else _ENVIRONMENT
        stderr = subprocess.PIPE if has_errors else subprocess.DEVNULL
        try:
            return subprocess.Popen(  # noqa: S603 - no shell, and no argument that could be an option
                self.argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
            )
        except OSError as error:
            raise TfgenError(f"git cannot start: {error.strerror}") from error

    def done(self) -> Done:
        """Run the command and return its result. A nonzero exit code raises no error."""
        with self.start() as process:
            try:
                stdout, stderr = process.communicate(self.stdin)
            except BaseException:
                end(process)
                raise
        return Done(process.returncode, stdout, stderr.decode("utf-8", errors="replace"))

    def output(self) -> bytes:
        """Run the command and return its output.

        Raises:
            TfgenError: the exit code is not 0.
        """
        done = self.done()
        if done.code:
            raise self.failure(done)
        return done.stdout

    def output_of(self, paths: Sequence[str]) -> bytes:
        """Run the command with paths as the last arguments, and return the output.

        The command runs once for every 500 paths, because the length of a command line is limited.

        Raises:
            TfgenError: the exit code of a run is not 0.
        """
        parts = (paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK))
        return b"".join(self.replaced(arguments=(*self.arguments, *part)).output() for part in parts)

    def names(self, paths: Sequence[str] | None = None) -> set[str]:
        """Run the command, and return the names that the command prints with NUL bytes between the names.

        `paths` are the last arguments of the command, as in `output_of`; None for a command without paths.

        Raises:
            TfgenError: the exit code is not 0.
        """
        printed = self.output() if paths is None else self.output_of(paths)
        return {os.fsdecode(name) for name in printed.split(b"\0") if name}

    def failure(self, done: Done) -> TfgenError:
        """Return an error with the command line, the exit code and the message of the failed command."""
        return TfgenError(f"{self} ended with code {done.code}: {done.stderr.strip()}")

    def __str__(self) -> str:
        return shlex.join(self.argv)


_PATIENCE_S: Final = 10.0


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a running git process."""
    import subprocess

    process.terminate()  # on SIGTERM, git removes its lock files, which would block the next git command
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def is_installed() -> bool:
    """Return whether git is on the PATH."""
    # Not `shutil.which`: the module `shutil` imports two compression libraries.
    paths = (os.path.join(folder, "git") for folder in os.get_exec_path())  # noqa: PTH118 - a folder may be ""
    return any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths)  # noqa: PTH113


# -- objects -----------------------------------------------------------------------------------------------------------


_AT_ONCE: Final = 60
"""Maximum number of requests that tfgen sends before tfgen reads the answers.

A pipe of Linux has at least 4096 bytes, enough for 60 requests of 65 bytes. So tfgen never blocks on a request.
"""

_FOLDER: Final = b"40000"
"""The mode of a folder in a tree."""

_LINK: Final = b"120000"
"""The mode of a symbolic link in a tree."""

_FILES: Final = b"100"
"""The first digits of the mode of a regular file."""

_PLACES_OF_REFS: Final = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
"""The refs that a name in a revision may mean, in git's order (https://git-scm.com/docs/gitrevisions)."""

_AFTER_NAME: Final = re.compile(r"[~^:]|@\{")
"""The end of the name in a revision."""

_EXACT_NAME: Final = re.compile(r"|@|HEAD|refs/.*|[0-9a-f]{40}|[0-9a-f]{64}")
"""A name for which git tries no other ref: a commit id, HEAD, or the full name of a ref."""


def is_revision(text: str) -> bool:
    """Return whether git reads a text as a revision. git reads `-x` as an option, and `^x` as an excluded revision."""
    return not text.startswith(("-", "^")) and "\n" not in text and "\0" not in text


class Commit(Record):
    """A commit: its id, and the id of its root folder."""

    commit_id: str
    tree: str


class TreeEntry(Record):
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

    @property
    def is_link(self) -> bool:
        """Return whether the entry is a symbolic link."""
        return self.mode == _LINK


class ObjectReader:
    """A running ``git cat-file --batch``. The process starts with the first request.

    Args:
        root: a folder of the repository.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None
        self._folders: dict[str, Mapping[str, TreeEntry]] = {}
        self._unambiguous: set[str] = set()

    def close(self) -> None:
        """End the process. A later request starts a new process."""
        process, self._process = self._process, None
        if process:
            with suppress(BrokenPipeError):  # git may end before git reads the last request
                cast("IO[bytes]", process.stdin).close()
            end(process)  # a forked process may still have the pipe open, and then git waits for requests
            process.__exit__(None, None, None)  # `__exit__` closes the other pipe

    def commit(self, revision: str) -> Commit | None:
        """Return the commit of a revision; None if the revision or the repository is missing.

        Raises:
            UsageError: several refs have the name in the revision.
            TfgenError: git fails.
        """
        if not is_revision(revision):
            return None
        self._check_unambiguous(revision)
        answers = self._request([os.fsencode(f"{revision}^{{commit}}")])
        if answers is None:
            return self._commit_by_command(revision)
        ((commit_id, content),) = answers
        if content is not None:
            return Commit(commit_id, content[5 : content.index(b"\n")].decode())  # "tree ID"
        head = Git(self._root, ("rev-parse", "--verify", "--quiet", "HEAD")).done() if revision == "HEAD" else None
        if head and not head.code:
            raise TfgenError(
                f"{self._root}: git cannot read the commit {head.stdout.decode().strip()} of HEAD; `git fsck` lists "
                "the damaged objects"
            )
        return None

    def _check_unambiguous(self, revision: str) -> None:
        """Check that only one ref has the name in a revision, such as `origin/main` in `origin/main~1`.

        git would silently prefer the tag `origin/main`, which needs no review, to the remote branch.

        Raises:
            UsageError: several refs have the name.
        """
        name = _AFTER_NAME.split(revision, maxsplit=1)[0]
        if _EXACT_NAME.fullmatch(name) or name in self._unambiguous:
            return
        places = [place.format(name) for place in _PLACES_OF_REFS]
        answers = self._request([os.fsencode(f"{place}^{{commit}}") for place in places]) or []
        refs = [place for place, (_, content) in zip(places, answers, strict=False) if content is not None]
        if len(refs) > 1:
            raise UsageError(
                f"{revision!r} is ambiguous, because {' and '.join(refs)} exist; write the full name of one of them, "
                f"such as {refs[-1]}{revision[len(name) :]}"
            )
        self._unambiguous.add(name)

    def _commit_by_command(self, revision: str) -> Commit | None:
        verified = Git(self._root, ("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")).done()
        if not verified.code:
            commit_id = verified.stdout.decode().strip()
            return Commit(commit_id, Git(self._root, ("rev-parse", f"{commit_id}^{{tree}}")).output().decode().strip())
        repository = Git(self._root, ("rev-parse", "--git-dir"))
        answer = repository.done()
        if answer.code and "not a git repository" not in answer.stderr:
            raise repository.failure(answer)
        return None

    def entry(self, tree: str, path: str) -> TreeEntry | None:
        """Return the entry of a path in the folder with the id `tree`; None if the folder lacks the path.

        Raises:
            TfgenError: git fails.
        """
        entry: TreeEntry | None = TreeEntry(_FOLDER, tree)
        for name in Path(path).parts:
            entry = self.folder(entry.object_id).get(name) if entry and entry.is_folder else None
        return entry

    def folder(self, tree: str) -> Mapping[str, TreeEntry]:
        """Return the entries of the folder with the id `tree`, by name. The result excludes the content of subfolders.

        Raises:
            TfgenError: git fails.
        """
        if tree not in self._folders:
            ((_, content),) = self._contents("tree", [tree])
            try:
                self._folders[tree] = _parse_tree(content, len(tree) // 2)
            except ValueError as error:
                raise TfgenError(f"{self._root}: the tree {tree} is damaged; run git fsck") from error
        return self._folders[tree]

    def files_below(self, tree: str, *, hidden: bool = True) -> Iterator[tuple[str, TreeEntry]]:
        """Yield the path and the entry of each file, link and submodule below the folder with the id `tree`.

        Args:
            tree: the id of the folder.
            hidden: whether to include names that begin with a dot.

        Raises:
            TfgenError: git fails.
        """
        folders = [("", tree)]
        while folders:
            prefix, folder = folders.pop()
            for name, entry in self.folder(folder).items():
                if name.startswith(".") and not hidden:
                    continue
                if entry.is_folder:
                    folders.append((f"{prefix}{name}/", entry.object_id))
                else:
                    yield prefix + name, entry

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of blobs, by the id of the blob.

        Raises:
            TfgenError: git fails, or a blob is missing, as in a partial clone.
        """
        unique = [*dict.fromkeys(ids)]
        parts = (unique[start : start + _AT_ONCE] for start in range(0, len(unique), _AT_ONCE))
        return {blob: content for part in parts for blob, content in self._contents("blob", part)}

    def _contents(self, object_type: str, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the id and the content of each object."""
        answers = self._request([object_id.encode() for object_id in ids]) or [(name, None) for name in ids]
        for object_id, content in answers:
            if content is not None:
                yield object_id, content
                continue
            done = Git(self._root, ("cat-file", object_type, object_id)).done()
            if done.code:
                raise TfgenError(
                    f"{self._root}: git cannot read the {object_type} {object_id} ({done.stderr.strip()}); make a "
                    "complete clone of the repository, and run the command there"
                )
            yield object_id, done.stdout

    def _request(self, names: Sequence[bytes]) -> list[tuple[str, bytes | None]] | None:
        """Return the id and the content of each object; the content of a missing object is None.

        The result is None if git ends before the last answer, for example because the folder has no repository.
        """
        try:
            process = self._process = self._process or Git(self._root, ("cat-file", "--batch")).start(has_errors=False)
            stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            stdin.write(b"".join(name + b"\n" for name in names))
            stdin.flush()
            return [_read_answer(stdout) for _ in names]
        except (BrokenPipeError, EOFError):
            self.close()
            return None
        except BaseException:
            self.close()  # a later request must not read the answers to this request
            raise


def _read_answer(stdout: IO[bytes]) -> tuple[str, bytes | None]:
    """Read the id and the content of an object. The content of a missing object is None.

    Raises:
        EOFError: git ended before the end of the answer.
    """
    words = stdout.readline().split()  # ID TYPE SIZE, or NAME missing
    if not words:
        raise EOFError
    object_id, size = os.fsdecode(words[0]), words[-1]
    if not size.isdigit():
        return object_id, None
    content = stdout.read(int(size) + 1)  # a newline ends the content
    if len(content) != int(size) + 1:
        raise EOFError
    return object_id, content[:-1]


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
        with ExitStack() as stack:
            for (process_id, _), reader in readers.items():
                if process_id == os.getpid():
                    stack.callback(reader.close)


@contextmanager
def object_reader(root: Path) -> Iterator[ObjectReader]:
    """Yield a reader of a repository.

    Inside the block of `shared_readers`, all callers in a process get the same reader.
    """
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


def _parse_tree(content: bytes, id_length: int) -> dict[str, TreeEntry]:
    """Return the entries of a tree, by name. Each entry is ``MODE NAME``, a NUL byte, and the bytes of the id."""
    entries = {}
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        nul = content.index(b"\0", space)
        after = nul + 1 + id_length
        mode = content[at:space].lstrip(b"0")  # old programs wrote 040000
        entries[os.fsdecode(content[space + 1 : nul])] = TreeEntry(mode, content[nul + 1 : after].hex())
        at = after
    return entries

"""Commit only the listed files. All other staged and modified files remain unchanged.

    repository = open_repository(Path("."))
    commit(repository, ["charts/mnist/Chart.yaml", ...], "mnist: workers 4 -> 8")

`git commit --only` commits from a temporary index, runs the hooks and signs the commit. Then git updates the committed
files in the index of the user, including the changes that the hooks made.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final

from tfgen.disk_file import real_path
from tfgen.errors import TfgenError, UsageError
from tfgen.git import command
from tfgen.git.command import Git
from tfgen.git.merge import Operation, find_under_way
from tfgen.git.tree import CommitTree, resolved
from tfgen.record import Record

_NOT_A_BRANCH_NAME: Final = re.compile(r"@|([A-Z]+_)*HEAD|(refs|heads|tags|remotes)/.*|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{64}")
"""Pattern of names that git reads as another ref or as a commit id: https://git-scm.com/docs/gitrevisions."""

_SUBMODULE: Final = b"160000"
"""The mode of a submodule in the index."""

_ATTEMPTS: Final = 20
_LONGEST_WAIT_S: Final = 30.0


class GitRefusedError(TfgenError):
    """Error for a commit or a push that the repository, a hook or the remote refuses."""

    exit_code: ClassVar[int] = 1  # the user can fix the cause, as for a problem of the input


class UnderWayError(GitRefusedError):
    """Error for a repository with an unfinished git operation, such as a merge."""

    def __init__(self, operation: Operation, root: Path) -> None:
        super().__init__(f"{operation.name} is under way in {root}")
        self.operation = operation


class Repository(Record):
    """A repository with a working tree that is ready for a commit.

    Attributes:
        root: the root of the working tree.
        branch: the branch that is checked out; empty on a detached HEAD.
        head: the id of the last commit; empty before the first commit.
    """

    root: Path
    branch: str
    head: str

    def git(self, *arguments: str, stdin: bytes = b"", runs_hooks: bool = False) -> Git:
        """Return a git command that runs in the root of the working tree."""
        return Git(self.root, arguments, stdin, runs_hooks)

    def text(self, *arguments: str, stdin: bytes = b"") -> str:
        """Return the output of a git command as text, without surrounding white space.

        Raises:
            TfgenError: the exit code is not 0.
        """
        return os.fsdecode(self.git(*arguments, stdin=stdin).output()).strip()

    def found(self, *arguments: str) -> str:
        """Return the output of a git command as text; empty if the exit code is not 0."""
        done = self.git(*arguments).done()
        return "" if done.code else os.fsdecode(done.stdout).strip()

    def succeeds(self, *arguments: str) -> bool:
        """Return whether the exit code of a git command is 0."""
        return not self.git(*arguments).done().code

    def names(self, *arguments: str, paths: Sequence[str] | None = None) -> set[str]:
        """Return the names that a git command prints with NUL bytes between the names.

        `paths` are the last arguments of the command; None for a command without paths.

        Raises:
            TfgenError: the exit code is not 0.
        """
        return self.git(*arguments).names(paths)


def open_repository(folder: Path) -> Repository:
    """Return the repository that contains a folder. The folder need not exist.

    Raises:
        UsageError: git is not installed, or the folder is not in a repository.
        UnderWayError: a merge, a rebase or a similar operation is not finished.
        TfgenError: git fails.
    """
    if not command.is_installed():
        raise UsageError("git is not on the PATH, so tfgen cannot commit")
    whole = real_path(folder)
    folder = next(candidate for candidate in (whole, *whole.parents) if candidate.is_dir())
    answer = Git(folder, ("rev-parse", "--show-toplevel")).done()
    if answer.code:
        if "not a git repository" in answer.stderr:
            raise UsageError(f"{folder}: the folder is not in a git repository; create a repository with git init")
        raise Git(folder, ("rev-parse", "--show-toplevel")).failure(answer)
    root = Path(os.fsdecode(answer.stdout.rstrip(b"\n")))
    state = Path(os.fsdecode(Git(root, ("rev-parse", "--absolute-git-dir")).output().rstrip(b"\n")))
    if operation := find_under_way(state):
        raise UnderWayError(operation, root)
    # Without --short, which prints "heads/NAME" if a tag has the same name.
    repository = Repository(root, "", "")
    branch = repository.found("symbolic-ref", "--quiet", "HEAD").removeprefix("refs/heads/")
    return repository.replaced(branch=branch, head=repository.found("rev-parse", "--verify", "--quiet", "HEAD"))


def check_paths(repository: Repository, digests: Mapping[str, str | None], unwritten: Iterable[str]) -> None:
    """Check that one commit can contain all files of a tfgen command, before the command writes a file.

    Args:
        repository: the repository of the commit.
        digests: the SHA-256 of the new content of each file in lower-case hexadecimal digits, by path; None for a
            removed file.
        unwritten: files that the commit contains but that the command does not write.

    Raises:
        GitRefusedError: a file is in another repository, or git ignores changes to the file (assume-unchanged).
    """
    paths = sorted({*digests, *unwritten})
    strange = [*_submodules(repository, paths)]
    if not strange:  # git check-ignore refuses paths in a submodule
        folders = _folders_above({*paths} - _ignored_files(repository, paths))
        strange = [folder for folder in sorted(folders) if os.path.lexists(repository.root / folder / ".git")]
    faults = [
        f"{folder} is a separate repository, and a commit cannot contain files of two repositories: "
        f"move the folder out of {repository.root}, or choose another folder with --out"
        for folder in strange
    ]
    faults += _hidden_changes(repository, digests, paths) if not faults else []
    if faults:
        raise GitRefusedError("\n".join(["nothing was written or committed:", *faults]))


def changed(repository: Repository, paths: Iterable[str]) -> list[str]:
    """Return the sorted paths, among the given paths, that a commit would change. Ignored files are omitted."""
    candidates = sorted(set(paths))
    ignored = _ignored_files(repository, candidates)
    tracked_or_new = [path for path in candidates if path not in ignored]
    listed_names = repository.names("ls-files", "-z", "--cached", "--others", "--", paths=tracked_or_new)
    if repository.head:
        in_head = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", "--")
        listed_names |= repository.names(*in_head, paths=tracked_or_new)
    status = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=no", "--")
    entries = repository.git(*status).output_of([path for path in tracked_or_new if path in listed_names])
    states = {os.fsdecode(entry[3:]): entry[:2] for entry in entries.split(b"\0") if entry}
    # `git status` also lists a file that differs only in size, for example because git converts the line endings.
    modified = [path for path, state in states.items() if state.strip() == b"M"] if repository.head else []
    differing = repository.names("diff", "--name-only", "--no-renames", "-z", "HEAD", "--", paths=modified)
    return sorted(states.keys() - ({*modified} - differing))


def would_change(repository: Repository, digests: Mapping[str, str | None]) -> bool:
    """Return whether a commit of new file contents would change a file in the repository. Ignored files do not count.

    Args:
        repository: the repository.
        digests: the SHA-256 of the new content of each file in lower-case hexadecimal digits, by path; None for a
            removed file.
    """
    unignored = digests.keys() - _ignored_files(repository, sorted(digests))
    contents = CommitTree().read_all(repository.root / path for path in unignored)
    committed = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    return committed != {repository.root / path: digests[path] for path in unignored if digests[path] is not None}


def commit(before: Repository, paths: Sequence[str], message: str, new_branch: str = "") -> tuple[Repository, str]:
    """Commit files as they are on disk. The commit removes files that are missing.

    Args:
        before: the repository.
        paths: the files, as paths relative to the root.
        message: the message of the commit.
        new_branch: the name of a branch that tfgen creates and checks out for the commit; empty, or the name of the
            current branch, for a commit to the current branch.

    Returns:
        The repository with the branch of the commit, and the id of the commit.

    Raises:
        GitRefusedError: a hook, the signing program or git refuses the commit. The index and the current branch remain
            unchanged, and the new branch does not exist.
    """
    if new_branch in ("", before.branch):
        return before, _commit(before, paths, message)
    if before.head:
        before.git("branch", "--no-track", new_branch, before.head).output()
    before.git("symbolic-ref", "HEAD", f"refs/heads/{new_branch}").output()
    try:
        return before.replaced(branch=new_branch), _commit(before, paths, message)
    except BaseException:
        if before.branch:
            before.git("symbolic-ref", "HEAD", f"refs/heads/{before.branch}").done()
        else:
            before.git("update-ref", "--no-deref", "HEAD", before.head).done()
        if before.head:
            before.git("update-ref", "-d", f"refs/heads/{new_branch}", before.head).done()
        raise


def _commit(repository: Repository, paths: Sequence[str], message: str) -> str:
    from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
    tracked = repository.names("ls-files", "-z", "--cached", "--", paths=paths)
    new = [path for path in paths if path not in tracked and (repository.root / path).is_file()]
    try:
        if new:  # git commits only tracked files
            _run_with_retries(
                repository.git("add", "--intent-to-add", *from_stdin, stdin=_literal(new), runs_hooks=True)
            )
        # The message is not a template, so git must keep a line that begins with "#".
        words = ("--quiet", "--cleanup=whitespace", f"--message={message}")
        _run_with_retries(
            repository.git("commit", "--only", *words, *from_stdin, stdin=_literal(paths), runs_hooks=True)
        )
    except BaseException:
        if new:
            intents = b"".join(os.fsencode(path) + b"\0" for path in new)
            repository.git("update-index", "--force-remove", "-z", "--stdin", stdin=intents).done()
        raise
    # If a hook changes and adds a file, git commits the new content and leaves the old content in the index.
    names = sorted(repository.names("diff-tree", "--root", "--no-commit-id", "-r", "-z", "--name-only", "HEAD"))
    if stale := repository.names("diff-index", "--cached", "-z", "--name-only", "HEAD", "--", paths=names):
        _run_with_retries(
            repository.git("reset", "--quiet", *from_stdin, stdin=_literal(sorted(stale)), runs_hooks=True)
        )
    return resolved(repository.root)


def check_branch(repository: Repository, name: str) -> None:
    """Check that git can create a branch with the name `name`. A branch that is checked out already is valid.

    Raises:
        UsageError: git rejects the name, the name is another revision, or the branch exists but is not checked out.
    """
    if name == repository.branch:
        return
    expanded = repository.git("check-ref-format", "--branch", name).done()
    if expanded.code or name.startswith("-"):
        raise UsageError(f"{name!r} is not a valid name of a branch")
    if os.fsdecode(expanded.stdout).rstrip("\n") != name or _NOT_A_BRANCH_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name of a branch: git reads the name as another revision")
    if repository.succeeds("rev-parse", "--verify", "--quiet", f"refs/heads/{name}"):
        raise UsageError(
            f"the branch {name} exists already, but {repository.branch or 'no branch'} is checked out; check out "
            f"{name}, or choose a different name"
        )
    if full_name := repository.found("rev-parse", "--symbolic-full-name", "--verify", "--quiet", name):
        raise UsageError(f"{name!r} is not a usable name of a branch here: git reads the name as {full_name}")


def wait(attempt: int, took_s: float = 0.05) -> None:
    """Sleep for a random time after a failed attempt, so that two processes do not collide again.

    Args:
        attempt: the number of failed attempts before this one. The maximum time grows with this number.
        took_s: the duration of one attempt in seconds. Two attempts that start within this time collide, so a longer
            attempt needs a longer sleep.
    """
    time.sleep(random.uniform(0, min(_LONGEST_WAIT_S, took_s * 2 ** min(attempt, 4))))  # noqa: S311 - no secret


def _run_with_retries(command: Git) -> None:
    """Run a git command that locks the index. Try again while another git process has the lock."""
    for attempt in range(_ATTEMPTS):
        done = command.done()
        if not done.code:
            return
        if "index.lock" not in done.stderr and "cannot lock ref" not in done.stderr:
            break
        wait(attempt)
    printed = "\n".join(part for part in (done.stderr.strip(), os.fsdecode(done.stdout).strip()) if part)
    raise GitRefusedError(
        f"git {command.arguments[0]} refused; nothing is committed:\n{printed or f'code {done.code}'}"
    )


def _submodules(repository: Repository, paths: Sequence[str]) -> Iterator[str]:
    """Yield the submodules that contain at least one of the paths."""
    folders = _folders_above(paths)
    tops = sorted({folder.partition("/")[0] for folder in folders})
    listed = repository.git("ls-files", "-z", "--stage", "--").output_of(tops) if tops else b""
    for entry in listed.split(b"\0"):
        head, _, name = entry.partition(b"\t")
        if head.startswith(_SUBMODULE) and os.fsdecode(name) in folders:
            yield os.fsdecode(name)


def _folders_above(paths: Iterable[str]) -> set[str]:
    return {str(folder) for path in paths for folder in PurePosixPath(path).parents} - {"."}


def _hidden_changes(repository: Repository, digests: Mapping[str, str | None], paths: Sequence[str]) -> Iterator[str]:
    """Yield a message with a fix for each changed file in `paths` whose changes git hides.

    git hides the changes of a file that is marked as assume-unchanged or skip-worktree.
    """
    is_sparse = repository.found("config", "--type=bool", "--get", "core.sparseCheckout") == "true"
    listed = repository.names("ls-files", "-z", "-v", "--cached", "--", paths=paths)
    for entry in sorted(listed, key=lambda entry: entry[2:]):
        tag, path = entry[0], entry[2:]
        if not (tag.islower() or tag == "S") or not _differs(repository, path, digests):
            continue
        name = shlex.quote(os.path.relpath(repository.root / path))
        if tag.islower():
            fix = f"git update-index --no-assume-unchanged {name}"
            yield f"{path}: git ignores the change, because the file is marked as assume-unchanged; run {fix}"
        if tag in "Ss":
            folder = shlex.quote(os.path.relpath((repository.root / path).parent))
            fix = f"git sparse-checkout add {folder}" if is_sparse else f"git update-index --no-skip-worktree {name}"
            yield f"{path}: git ignores the change, because the file is marked as skip-worktree; run {fix}"


def _differs(repository: Repository, path: str, digests: Mapping[str, str | None]) -> bool:
    """Return whether the new content of the file `path` differs from the content in HEAD.

    `digests` has the SHA-256 of the new content; None for a removed file. If `digests` lacks the path, the new content
    is the file on disk.
    """
    file = repository.root / path
    before = CommitTree().read(file)
    if path not in digests:
        return before != (file.read_bytes() if file.is_file() else None)
    return digests[path] != (None if before is None else hashlib.sha256(before).hexdigest())


def _ignored_files(repository: Repository, paths: Sequence[str]) -> set[str]:
    names = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
    # git check-ignore does not support pathspecs, and refuses --literal-pathspecs.
    command = repository.git("check-ignore", "-z", "--stdin", stdin=names, runs_hooks=True)
    done = command.done()
    if done.code not in (0, 1):  # 1: no path is ignored
        raise command.failure(done)
    return {os.fsdecode(name.removeprefix(b"./")) for name in done.stdout.split(b"\0") if name}


def _literal(paths: Sequence[str]) -> bytes:
    """Return pathspecs that match the paths literally. A NUL byte ends each pathspec."""
    return b"".join(b":(literal)" + os.fsencode(path) + b"\0" for path in paths)

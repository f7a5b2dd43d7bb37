"""A branch that nobody has checked out: read and written in a temporary working tree.

    tip = find_tip(repository, "rendered", to)
    with working_tree(repository, tip) as tree:
        ...  # files below tree.root
        commit = commit_all(tree, tip, "mnist: workers 4 -> 8")
    move_branch(repository, "rendered", commit, tip)

The user's own working tree and index stay as they are, and no hook runs: what is committed comes of a commit that had
them all.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tfgen.errors import UsageError
from tfgen.git.commit import RefusedError, Repository
from tfgen.git.push import Target

# Files are committed byte for byte as they were written, whatever git is told to do with line ends.
_AS_WRITTEN: Final = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")


def find_tip(repository: Repository, branch: str, to: Target | None) -> str:
    """The commit that the branch's next one comes after; empty where there is no such branch.

    Args:
        repository: the repository.
        branch: the branch's name.
        to: where it is pushed to, from where it is fetched first; None where it is not pushed.

    Raises:
        UsageError: a working tree has the branch.
        RefusedError: the branch and the remote's have each a commit that the other has not.
        TfgenError: git fails.
    """
    ref = f"refs/heads/{branch}"
    if place := _text(repository, "for-each-ref", "--format=%(worktreepath)", ref):
        raise UsageError(
            f"{place} has the branch {branch} checked out, which tfgen writes: check out another one there"
        )
    ours = _text(repository, "for-each-ref", "--format=%(objectname)", ref)
    if to is None:
        theirs = _text(repository, "for-each-ref", "--format=%(objectname)", f"refs/remotes/*/{branch}")
        return ours or theirs.partition("\n")[0]
    if not _text(repository, "ls-remote", "--heads", to.remote, f"refs/heads/{to.branch}"):
        return ours
    repository.git("fetch", "--quiet", to.remote, f"refs/heads/{to.branch}", runs_hooks=True).output()
    theirs = _text(repository, "rev-parse", "--verify", "FETCH_HEAD")
    if not ours or _is_ancestor(repository, ours, theirs):
        return theirs
    if _is_ancestor(repository, theirs, ours):
        return ours
    raise RefusedError(
        f"{branch} has commits that {to.remote}/{to.branch} has not, and the other way round; all in it comes of the "
        f"jobs, so take theirs and render again: git branch --force {branch} {theirs[:12]}"
    )


@contextmanager
def working_tree(repository: Repository, tip: str) -> Iterator[Repository]:
    """A temporary working tree with the files of a commit; an empty one where there is none."""
    with tempfile.TemporaryDirectory(prefix="tfgen-branch-") as folder:
        root = Path(folder) / "tree"
        start = tip or _empty_commit(repository)
        repository.git(*_AS_WRITTEN, "worktree", "add", "--quiet", "--detach", str(root), start).output()
        try:
            yield repository.replaced(root=root, branch="", head=start)
        finally:
            repository.git("worktree", "remove", "--force", str(root)).done()


def commit_all(tree: Repository, tip: str, message: str) -> str:
    """Commit all files of a temporary working tree, and return the commit's id; empty where none has changed.

    The commit is signed where the user has git sign commits.
    """
    tree.git(*_AS_WRITTEN, "add", "--all", "--force", ".").output()
    if tip and not tree.git("diff", "--cached", "--quiet", "HEAD").done().code:
        return ""
    written = _text(tree, "write-tree")
    signs = _text(tree, "config", "--type=bool", "--default=false", "--get", "commit.gpgSign") == "true"
    options = (*(("-p", tip) if tip else ()), *(("-S",) if signs else ()))
    return _output(tree, "commit-tree", *options, written, stdin=f"{message}\n".encode())


def move_branch(repository: Repository, branch: str, commit: str) -> None:
    """Let a branch be at a commit; it is made where it is not there."""
    repository.git("update-ref", f"refs/heads/{branch}", commit).output()


def trailer(repository: Repository, commit: str, key: str) -> str:
    """What a line ``KEY: VALUE`` at the end of a commit's message says; empty where there is none."""
    return _text(repository, "log", "-1", f"--format=%(trailers:key={key},valueonly)", commit)


def is_remote_tip(repository: Repository, branch: str) -> bool:
    """Whether HEAD is detached and at the last commit of a remote's branch, as CI checks it out."""
    refs = ("for-each-ref", "--points-at=HEAD", "--format=%(refname)", f"refs/remotes/*/{branch}")
    return bool(repository.head and not repository.branch and _text(repository, *refs))


def has_commit(repository: Repository, commit: str) -> bool:
    """Whether the repository has a commit. A shallow clone may lack it."""
    return not repository.git("cat-file", "-e", f"{commit}^{{commit}}").done().code


def _empty_commit(repository: Repository) -> str:
    tree = _output(repository, "mktree", stdin=b"")
    return _output(repository, "commit-tree", tree, stdin=b"empty\n")


def _is_ancestor(repository: Repository, one: str, other: str) -> bool:
    return not repository.git("merge-base", "--is-ancestor", one, other).done().code


def _text(repository: Repository, *arguments: str) -> str:
    return os.fsdecode(repository.git(*arguments).output()).strip()


def _output(repository: Repository, *arguments: str, stdin: bytes) -> str:
    return os.fsdecode(repository.git(*arguments, stdin=stdin).output()).strip()

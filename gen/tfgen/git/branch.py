"""Commit to a branch that is not checked out. A temporary working tree contains the files of the branch.

    tip = find_tip(repository, "rendered", to)
    with working_tree(repository, tip) as tree:
        ...  # write files below tree.root
        commit = commit_all(tree, tip, "mnist: workers 4 -> 8")
    move_branch(repository, "rendered", commit)

The working tree and the index of the user remain unchanged. No git hook runs, because the hooks already ran for the
commit of the job files.
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

# git must commit the files byte for byte, whatever the user's settings for line endings are.
_AS_WRITTEN: Final = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")


def find_tip(repository: Repository, branch: str, to: Target | None) -> str:
    """Return the id of the last commit of a local or remote branch; empty if the branch does not exist.

    Args:
        repository: the repository.
        branch: the name of the branch.
        to: the target of a later push, whose remote branch tfgen fetches; None for a branch that is not pushed.

    Raises:
        UsageError: a working tree has the branch checked out.
        RefusedError: the local and the remote branch have diverged.
        TfgenError: git fails.
    """
    ref = f"refs/heads/{branch}"
    if place := _text(repository, "for-each-ref", "--format=%(worktreepath)", ref):
        raise UsageError(
            f"{place} has the branch {branch} checked out, but tfgen writes to this branch; check out another branch"
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
        f"{branch} and {to} have diverged; reset the local branch to the remote branch, and "
        f"render the files again: git branch --force {branch} {theirs[:12]}"
    )


@contextmanager
def working_tree(repository: Repository, tip: str) -> Iterator[Repository]:
    """Check out the commit `tip` in a temporary working tree, and yield the tree. If `tip` is empty, the tree is empty.

    At the end of the `with` block, tfgen deletes the tree.
    """
    with tempfile.TemporaryDirectory(prefix="tfgen-branch-") as folder:
        root = Path(folder) / "tree"
        start = tip or _empty_commit(repository)
        repository.git(*_AS_WRITTEN, "worktree", "add", "--quiet", "--detach", str(root), start).output()
        try:
            yield repository.replaced(root=root, branch="", head=start)
        finally:
            repository.git("worktree", "remove", "--force", str(root)).done()


def commit_all(tree: Repository, tip: str, message: str) -> str:
    """Commit all files of a temporary working tree, and return the id of the commit; empty if no file has changed.

    git signs the commit if `commit.gpgSign` is true.
    """
    tree.git(*_AS_WRITTEN, "add", "--all", "--force", ".").output()
    if tip and not tree.git("diff", "--cached", "--quiet", "HEAD").done().code:
        return ""
    written = _text(tree, "write-tree")
    signs = _text(tree, "config", "--type=bool", "--default=false", "--get", "commit.gpgSign") == "true"
    options = (*(("-p", tip) if tip else ()), *(("-S",) if signs else ()))
    return _output(tree, "commit-tree", *options, written, stdin=f"{message}\n".encode())


def move_branch(repository: Repository, branch: str, commit: str) -> None:
    """Move a branch to a commit, or create the branch."""
    repository.git("update-ref", f"refs/heads/{branch}", commit).output()


def trailer(repository: Repository, commit: str, key: str) -> str:
    """Return the value of a trailer ``KEY: VALUE`` in the message of a commit; empty if the trailer is missing."""
    return _text(repository, "log", "-1", f"--format=%(trailers:key={key},valueonly)", commit)


def is_remote_tip(repository: Repository, branch: str) -> bool:
    """Return whether HEAD is detached at the last commit of a remote branch named `branch`, as in a CI checkout."""
    refs = ("for-each-ref", "--points-at=HEAD", "--format=%(refname)", f"refs/remotes/*/{branch}")
    return bool(repository.head and not repository.branch and _text(repository, *refs))


def has_commit(repository: Repository, commit: str) -> bool:
    """Return whether the repository contains a commit. A shallow clone may lack the commit."""
    return not repository.git("cat-file", "-e", f"{commit}^{{commit}}").done().code


def _empty_commit(repository: Repository) -> str:
    tree = _output(repository, "mktree", stdin=b"")
    return _output(repository, "commit-tree", tree, stdin=b"empty\n")


def _is_ancestor(repository: Repository, ancestor: str, descendant: str) -> bool:
    return not repository.git("merge-base", "--is-ancestor", ancestor, descendant).done().code


def _text(repository: Repository, *arguments: str) -> str:
    return os.fsdecode(repository.git(*arguments).output()).strip()


def _output(repository: Repository, *arguments: str, stdin: bytes) -> str:
    return os.fsdecode(repository.git(*arguments, stdin=stdin).output()).strip()

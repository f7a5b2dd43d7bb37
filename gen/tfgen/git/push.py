"""Push a branch. If the remote branch has new commits, replay the local commits on top of these, and push again.

    push(repository, target(repository), replay)

To replay a commit is to apply its changes to another commit, as `git rebase` does. The replay runs in a temporary
working tree, because the user's working tree may have modified files. Then tfgen checks out the replayed commits in the
user's working tree.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from tfgen.errors import UsageError
from tfgen.git.commit import RefusedError, Repository, wait
from tfgen.git.tree import resolved
from tfgen.plural import count
from tfgen.record import Record

ATTEMPTS: Final = 50
"""Maximum number of attempts to push. An attempt fails if somebody else has pushed a commit in the meantime."""

NO_BRANCH: Final = "no branch is checked out (a detached HEAD); name a new branch with --branch"
"""Message of the error if a commit or a push needs a branch."""

# Lines of `git push --porcelain`: the remote is ahead, or another push locks the ref.
_BEHIND: Final = re.compile(r"^!\t\S+\t\[rejected\]", re.MULTILINE)
_BUSY: Final = re.compile(
    r"^!\t\S+\t\[remote rejected\] \(.*(?:cannot lock ref|failed to update ref|incorrect old value|fetch first).*\)",
    re.MULTILINE,
)


class Target(Record):
    """The remote and the remote branch of a push.

    Attributes:
        is_upstream: whether the local branch already tracks the remote branch.
    """

    remote: str
    branch: str
    is_upstream: bool

    def __str__(self) -> str:
        """Return the name of the remote branch, such as `origin/main`."""
        return f"{self.remote}/{self.branch}"


class RebaseConflictError(RefusedError):
    """Error for a remote branch and local commits that change the same files.

    Attributes:
        files: the paths of the files from the root of the repository.
    """

    def __init__(self, repository: Repository, to: Target, files: tuple[str, ...]) -> None:
        super().__init__(
            f"{to} also changed {_some(files)}; the commit stays in the local branch "
            f"{repository.branch} and is not pushed"
        )
        self.files = files


def target(repository: Repository) -> Target:
    """Return the upstream of the current branch, or else the branch with the same name in the default remote.

    Raises:
        UsageError: no remote exists, several remotes exist without a default, or no branch is checked out.
    """
    branch = repository.branch
    if not branch:
        raise UsageError(NO_BRANCH)
    remote, merge = _config(repository, f"branch.{branch}.remote"), _config(repository, f"branch.{branch}.merge")
    if remote and merge and remote != ".":
        return Target(remote, merge.removeprefix("refs/heads/"), is_upstream=True)
    remotes = os.fsdecode(repository.git("remote").output()).split()
    preferred = _config(repository, "remote.pushDefault") or ("origin" if "origin" in remotes else "")
    if not preferred and len(remotes) != 1:
        raise UsageError(
            f"no remote exists to push {branch} to; add a remote with git remote add origin URL"
            if not remotes
            else (
                f"several remotes exist ({', '.join(remotes)}); choose a remote with git config remote.pushDefault NAME"
            )
        )
    return Target(preferred or remotes[0], branch, is_upstream=False)


def find_pushed(repository: Repository, to: Target) -> str:
    """Return the id of the newest commit that HEAD and the remote branch share, according to the last fetch.

    If the remote branch does not exist, the function compares HEAD with the upstream of the current branch, then with
    the default branch of the remote, then with all branches of the remote.

    The result is "" if the remote already has HEAD, or if no fetched branch shares a commit with HEAD.
    """
    remote = f"refs/remotes/{to.remote}"
    branches = os.fsdecode(repository.git("for-each-ref", "--format=%(refname)", remote).output()).split()
    for revisions in ([f"{remote}/{to.branch}"], ["@{upstream}"], [f"{remote}/HEAD"], branches):
        done = repository.git("merge-base", "HEAD", *revisions).done()
        if not done.code:
            base = os.fsdecode(done.stdout).strip()
            return "" if base == resolved(repository.root) else base
    return ""


Replay: TypeAlias = Callable[[Repository, Target, str], None]
"""Function that applies the local commits on top of the remote branch, in a temporary working tree.

The arguments are the temporary working tree, the target of the push, and the last local commit.
"""


def push(repository: Repository, to: Target, replay: Replay) -> None:
    """Push the branch that is checked out. If the remote branch has new commits, replay the local commits first.

    Args:
        repository: the repository.
        to: the remote and its branch.
        replay: function that applies the local commits on top of the remote branch. tfgen calls the function whenever
            the remote branch has new commits.

    Raises:
        RebaseConflictError: the remote branch changed the same files.
        RefusedError: a hook or the remote refuses the push, or another push was faster in every attempt. The commit
            stays in the local branch.
    """
    took_s = 0.0
    options = () if to.is_upstream else ("--set-upstream",)
    stays = f"the commit stays in {repository.branch}"
    for attempt in range(ATTEMPTS):
        began = time.monotonic()
        if attempt:
            _rebase(repository, to, replay)
        if push_commit(repository, to, f"refs/heads/{repository.branch}", stays, options):
            return
        took_s = max(took_s, time.monotonic() - began)
        wait(attempt, took_s)
    raise RefusedError(
        f"{to.remote} had new commits in each of {ATTEMPTS} attempts; "
        f"the commit stays in {repository.branch}: try again"
    )


def push_commit(repository: Repository, to: Target, commit: str, consequence: str, options: Sequence[str] = ()) -> bool:
    """Push a commit to the remote branch.

    Return False if the remote branch has newer commits, or if another push changes the branch at the same time.

    Args:
        repository: the repository.
        to: the remote and its branch.
        commit: the id of the commit, or a full ref such as refs/heads/main.
        consequence: the last words of the error message, such as "the commit stays in main".
        options: additional options of `git push`.

    Raises:
        RefusedError: a hook or the remote refuses the push.
    """
    arguments = ("push", "--porcelain", *options, to.remote, f"{commit}:refs/heads/{to.branch}")
    done = repository.git(*arguments, runs_hooks=True).done()
    if not done.code:
        return True
    printed = os.fsdecode(done.stdout)
    if _BEHIND.search(printed) or _BUSY.search(printed):
        return False
    reason = "\n".join(part for part in (done.stderr.strip(), printed.strip()) if part)
    raise RefusedError(f"the push to {to.remote} failed, and {consequence}:\n{reason}")


def _rebase(repository: Repository, to: Target, replay: Replay) -> None:
    """Replay the local commits on top of the remote branch, if the remote branch has commits that HEAD lacks."""
    repository.git("fetch", "--quiet", to.remote, f"refs/heads/{to.branch}", runs_hooks=True).output()
    theirs = os.fsdecode(repository.git("rev-parse", "--verify", "FETCH_HEAD").output()).strip()
    ours = resolved(repository.root)
    if not repository.git("merge-base", "--is-ancestor", theirs, ours).done().code:
        return
    with tempfile.TemporaryDirectory(prefix="tfgen-rebase-") as folder:
        root = Path(folder) / "tree"
        repository.git("worktree", "add", "--quiet", "--detach", str(root), theirs).output()
        tree = repository.replaced(root=root, head=theirs)
        try:
            replay(tree, to, ours)
            rebased = resolved(tree.root)
        finally:
            repository.git("worktree", "remove", "--force", str(root)).done()
    # `git checkout` keeps modified files. If the new commits change one of these files, git stops without a change.
    moved = repository.git("checkout", "--quiet", "-B", repository.branch, rebased, runs_hooks=True).done()
    if moved.code:
        raise RefusedError(
            f"new commits of {to.remote} change files that you have modified; the commit stays in the local branch "
            f"{repository.branch} and is not pushed:\n{moved.stderr.strip()}"
        )


def _some(names: Sequence[str], most: int = 3) -> str:
    hidden = len(names) - most
    return ", ".join(names[:most]) + (f" and {count(hidden, 'more file')}" if hidden > 0 else "")


def _config(repository: Repository, key: str) -> str:
    return os.fsdecode(repository.git("config", "--get", key).done().stdout).strip()

"""Publish a branch: make a commit in a temporary working tree, push the commit, and repeat both if the remote moved.

    def render(attempt: int) -> tuple[str, str]:
        with worktree(repository, find_tip(repository, "rendered", to)) as tree:
            ...  # write files below tree.root
            commit = commit_all(tree, "mnist: workers 4 -> 8")
        return commit, "the result"

    commit, result = publish(repository, to, render, "nothing is committed to rendered")

Commits to the branch of the job files, the replay of these commits on top of new remote commits, and commits to the
branch of rendered files all go through `publish`.

To replay a commit is to apply its changes to another commit, as `git rebase` does. The working tree is temporary,
because the user's working tree may have modified files. In a temporary working tree, no hook runs, because the hooks
ran when the user made each commit. git signs the new commits if `commit.gpgSign` is true.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from tfgen.errors import UsageError
from tfgen.git.commit import GitRefusedError, Repository, wait
from tfgen.git.tree import resolved
from tfgen.record import Record
from tfgen.words import count

ATTEMPTS: Final = 50
"""Maximum number of attempts to push. An attempt fails if somebody else has pushed a commit in the meantime."""

NO_BRANCH: Final = "no branch is checked out (a detached HEAD); name a new branch with --branch"
"""Message of the error if a commit or a push needs a branch."""

# git must write and commit the files byte for byte, whatever the user's settings for line endings are.
_AS_WRITTEN: Final = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")

# Lines of `git push --porcelain`: the remote is ahead, or another push locks the ref.
_BEHIND: Final = re.compile(r"^!\t\S+\t\[rejected\]", re.MULTILINE)
_BUSY: Final = re.compile(
    r"^!\t\S+\t\[remote rejected\] \(.*(?:cannot lock ref|failed to update ref|incorrect old value|fetch first).*\)",
    re.MULTILINE,
)

_MOST_NAMES: Final = 3
"""Maximum number of files that the message of a conflict names."""

_Result = TypeVar("_Result")


class PushTarget(Record):
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


class RebaseConflictError(GitRefusedError):
    """Error for a remote branch and local commits that change the same files.

    Attributes:
        files: the paths of the files from the root of the repository.
    """

    def __init__(self, repository: Repository, to: PushTarget, files: Sequence[str]) -> None:
        hidden = len(files) - _MOST_NAMES
        more = f" and {count(hidden, 'more file')}" if hidden > 0 else ""
        super().__init__(
            f"{to} also changed {', '.join(files[:_MOST_NAMES])}{more}; the commit stays in the local branch "
            f"{repository.branch} and is not pushed"
        )
        self.files = tuple(files)


# -- the branches ----------------------------------------------------------------------------------------------------


def target(repository: Repository) -> PushTarget:
    """Return the upstream of the current branch, or else the branch with the same name in the default remote.

    Raises:
        UsageError: no remote exists, several remotes exist without a default, or no branch is checked out.
    """
    branch = repository.branch
    if not branch:
        raise UsageError(NO_BRANCH)
    remote, merge = (repository.found("config", "--get", f"branch.{branch}.{key}") for key in ("remote", "merge"))
    if remote and merge and remote != ".":
        return PushTarget(remote, merge.removeprefix("refs/heads/"), is_upstream=True)
    remotes = repository.text("remote").split()
    preferred = repository.found("config", "--get", "remote.pushDefault") or ("origin" if "origin" in remotes else "")
    if not preferred and len(remotes) != 1:
        raise UsageError(
            f"no remote exists to push {branch} to; add a remote with git remote add origin URL"
            if not remotes
            else (
                f"several remotes exist ({', '.join(remotes)}); choose a remote with git config remote.pushDefault NAME"
            )
        )
    return PushTarget(preferred or remotes[0], branch, is_upstream=False)


def find_pushed(repository: Repository, to: PushTarget) -> str:
    """Return the id of the newest commit that HEAD and the remote branch share, according to the last fetch.

    If the remote branch does not exist, the function compares HEAD with the upstream of the current branch, then with
    the default branch of the remote, then with all branches of the remote.

    The result is "" if the remote already has HEAD, or if no fetched branch shares a commit with HEAD.
    """
    remote = f"refs/remotes/{to.remote}"
    branches = repository.text("for-each-ref", "--format=%(refname)", remote).split()
    for revisions in ([f"{remote}/{to.branch}"], ["@{upstream}"], [f"{remote}/HEAD"], branches):
        if base := repository.found("merge-base", "HEAD", *revisions):
            return "" if base == resolved(repository.root) else base
    return ""


def find_tip(repository: Repository, branch: str, to: PushTarget | None) -> str:
    """Return the id of the last commit of a local or remote branch; empty if the branch does not exist.

    Args:
        repository: the repository.
        branch: the name of the branch.
        to: the target of a later push, whose remote branch tfgen fetches; None for a branch that is not pushed.

    Raises:
        UsageError: a working tree has the branch checked out.
        GitRefusedError: the local and the remote branch have diverged.
        TfgenError: git fails.
    """
    ref = f"refs/heads/{branch}"
    if place := repository.text("for-each-ref", "--format=%(worktreepath)", ref):
        raise UsageError(
            f"{place} has the branch {branch} checked out, but tfgen writes to this branch; check out another branch"
        )
    ours = repository.text("for-each-ref", "--format=%(objectname)", ref)
    if to is None:
        theirs = repository.text("for-each-ref", "--format=%(objectname)", f"refs/remotes/*/{branch}")
        return ours or theirs.partition("\n")[0]
    if not repository.text("ls-remote", "--heads", to.remote, f"refs/heads/{to.branch}"):
        return ours
    theirs = _fetch(repository, to)
    if not ours or is_ancestor(repository, ours, theirs):
        return theirs
    if is_ancestor(repository, theirs, ours):
        return ours
    raise GitRefusedError(
        f"{branch} and {to} have diverged; reset the local branch to the remote branch, and "
        f"render the files again: git branch --force {branch} {theirs[:12]}"
    )


def is_remote_tip(repository: Repository, branch: str) -> bool:
    """Return whether HEAD is detached at the last commit of a remote branch named `branch`, as in a CI checkout."""
    refs = ("for-each-ref", "--points-at=HEAD", "--format=%(refname)", f"refs/remotes/*/{branch}")
    return bool(repository.head and not repository.branch and repository.text(*refs))


def is_ancestor(repository: Repository, ancestor: str, descendant: str) -> bool:
    """Return whether a commit is another commit, or an ancestor of another commit. A missing commit is no ancestor."""
    return repository.succeeds("merge-base", "--is-ancestor", ancestor, descendant)


def _fetch(repository: Repository, to: PushTarget) -> str:
    """Fetch the remote branch, and return the id of its last commit."""
    repository.git("fetch", "--quiet", to.remote, f"refs/heads/{to.branch}", runs_hooks=True).output()
    return repository.text("rev-parse", "--verify", "FETCH_HEAD")


# -- publish ---------------------------------------------------------------------------------------------------------


def publish(
    repository: Repository, to: PushTarget | None, render: Callable[[int], tuple[str, _Result]], stays: str
) -> tuple[str, _Result]:
    """Make a commit, and push the commit. Repeat both steps while the remote branch has new commits.

    Args:
        repository: the repository.
        to: the remote and its branch; None for a commit that is not pushed.
        render: function that makes the commit on top of the remote branch. The argument is the number of earlier
            attempts. The result is the id of the commit or the full name of a local branch, or "" if the push has
            nothing to do, and any other result.
        stays: the consequence of a refused push for error messages, such as "the commit stays in main".

    Returns:
        The result of the last call of `render`.

    Raises:
        GitRefusedError: a hook or the remote refuses the push, or another push was faster in every attempt.
        TfgenError: `render` or git fails.
    """
    if to is None:
        return render(0)
    longest_s = 0.0
    for attempt in range(ATTEMPTS):
        began = time.monotonic()
        revision, result = render(attempt)
        if not revision or _push(repository, to, revision, stays):
            return revision, result
        longest_s = max(longest_s, time.monotonic() - began)
        wait(attempt, longest_s)
    raise GitRefusedError(f"{to.remote} had new commits in each of {ATTEMPTS} attempts; {stays}: try again")


def _push(repository: Repository, to: PushTarget, revision: str, stays: str) -> bool:
    """Push a revision. Return False if the remote branch has newer commits, or if another push runs at the same time.

    Raises:
        GitRefusedError: a hook or the remote refuses the push.
    """
    options = () if to.is_upstream or not revision.startswith("refs/heads/") else ("--set-upstream",)
    arguments = ("push", "--porcelain", *options, to.remote, f"{revision}:refs/heads/{to.branch}")
    done = repository.git(*arguments, runs_hooks=True).done()
    if not done.code:
        return True
    printed = os.fsdecode(done.stdout)
    if _BEHIND.search(printed) or _BUSY.search(printed):
        return False
    reason = "\n".join(part for part in (done.stderr.strip(), printed.strip()) if part)
    raise GitRefusedError(f"the push to {to.remote} failed, and {stays}:\n{reason}")


@contextmanager
def worktree(repository: Repository, commit: str) -> Iterator[Repository]:
    """Check out a commit in a temporary working tree, and yield the tree. If `commit` is empty, the tree is empty.

    At the end of the `with` block, tfgen deletes the tree.
    """
    if not commit:
        commit = repository.text("commit-tree", repository.text("mktree"), stdin=b"empty\n")
    with tempfile.TemporaryDirectory(prefix="tfgen-tree-") as folder:
        root = Path(folder) / "tree"
        repository.git(*_AS_WRITTEN, "worktree", "add", "--quiet", "--detach", str(root), commit).output()
        try:
            yield repository.replaced(root=root, head=commit)
        finally:
            repository.git("worktree", "remove", "--force", str(root)).done()


def commit_all(tree: Repository, message: str, *, has_parent: bool = True) -> str:
    """Commit all files of a temporary working tree, and return the id of the commit; empty if no file has changed.

    If `has_parent` is false, the commit is the first commit of its branch.
    """
    tree.git(*_AS_WRITTEN, "add", "--all", "--force", ".").output()
    if has_parent and tree.succeeds("diff", "--cached", "--quiet", "HEAD"):
        return ""
    written = tree.text("write-tree")
    signs = tree.text("config", "--type=bool", "--default=false", "--get", "commit.gpgSign") == "true"
    options = (*(("-p", tree.head) if has_parent else ()), *(("-S",) if signs else ()))
    return tree.text("commit-tree", *options, written, stdin=f"{message}\n".encode())


def rebase(repository: Repository, to: PushTarget, replay: Callable[[Repository, str], _Result]) -> _Result | None:
    """Replay the local commits on top of the remote branch, and check out the result in the user's working tree.

    The result is the result of `replay`, or None if HEAD already has all commits of the remote branch.

    Args:
        repository: the repository.
        to: the remote and its branch, which tfgen fetches.
        replay: function that applies the local commits. The arguments are a temporary working tree, whose HEAD is the
            remote branch, and the last local commit.

    Raises:
        GitRefusedError: the new commits change files that the user has modified.
        TfgenError: `replay` or git fails.
    """
    theirs, ours = _fetch(repository, to), resolved(repository.root)
    if is_ancestor(repository, theirs, ours):
        return None
    with worktree(repository, theirs) as tree:
        result = replay(tree, ours)
        rebased = resolved(tree.root)
    # `git checkout` keeps modified files. If the new commits change one of these files, git stops without a change.
    moved = repository.git("checkout", "--quiet", "-B", repository.branch, rebased, runs_hooks=True).done()
    if moved.code:
        raise GitRefusedError(
            f"new commits of {to.remote} change files that you have modified; the commit stays in the local branch "
            f"{repository.branch} and is not pushed:\n{moved.stderr.strip()}"
        )
    return result


# -- replay ----------------------------------------------------------------------------------------------------------


def commits_to_replay(tree: Repository, tip: str) -> list[str]:
    """List the commits of a branch that are not in HEAD, the oldest first. `tip` is the last commit of the branch.

    As in `git rebase`, the list omits merge commits, and commits whose changes are already in HEAD.
    """
    order = ("--reverse", "--topo-order", "--no-merges", "--cherry-pick", "--right-only")
    return tree.text("rev-list", *order, f"HEAD...{tip}").split()


def pick(tree: Repository, commit: str) -> None:
    """Apply the changes of a commit to the files and the index. Files with conflicts stay unmerged in the index.

    Raises:
        TfgenError: git fails for a reason that is not a conflict.
    """
    command = tree.git("cherry-pick", "--no-commit", "--allow-empty", commit)
    done = command.done()
    if done.code and not unmerged_files(tree):
        raise command.failure(done)


def pick_without(tree: Repository, commit: str, paths: Collection[str]) -> None:
    """Drop all changes of the temporary working tree, and apply a commit without its changes of some files.

    Args:
        tree: the temporary working tree.
        commit: the commit, which must have a parent.
        paths: the files that stay unchanged, as paths relative to the root.
    """
    names, start = sorted(paths), tree.text("rev-parse", "HEAD")
    tree.git("reset", "--quiet", "--hard", "HEAD").output()
    tree.git("clean", "--quiet", "--force", "-d").output()
    tree.git("checkout", "--quiet", "--detach", f"{commit}^").output()
    tree.git("read-tree", "--reset", "-u", commit).output()
    before = tree.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", "--", paths=names)
    tree.git("rm", "--quiet", "--force", "--ignore-unmatch", "--").output_of([*{*names} - before])
    tree.git("checkout", "--quiet", "HEAD", "--").output_of(sorted(before))
    message = b"Changes without rendered files\n"
    copy = tree.text("commit-tree", "-p", f"{commit}^", tree.text("write-tree"), stdin=message)
    tree.git("checkout", "--quiet", "--force", "--detach", start).output()
    pick(tree, copy)


def commit_picked(tree: Repository, commit: str) -> None:
    """Commit the index with the author, date and message of an earlier commit. Do nothing if the index is unchanged."""
    if not tree.succeeds("diff", "--cached", "--quiet", "HEAD"):
        words = ("--reuse-message", commit, "--cleanup=verbatim", "--allow-empty-message")
        tree.git("-c", f"core.hooksPath={os.devnull}", "commit", "--quiet", *words).output()


def unmerged_files(tree: Repository) -> list[str]:
    """List the files with a merge conflict, as paths relative to the root."""
    return sorted(tree.names("diff", "--name-only", "--diff-filter=U", "-z"))


def changed_by(tree: Repository, commit: str) -> set[str]:
    """Return the files that a commit changes, as paths relative to the root."""
    options = ("--root", "--no-commit-id", "--no-renames", "-r", "-z", "--name-only")
    return tree.names("diff-tree", *options, commit)


def differing_files(tree: Repository, commit: str) -> set[str]:
    """Return the files that differ between the index and a commit, as paths relative to the root."""
    return tree.names("diff", "--cached", "--no-renames", "--name-only", "-z", commit)

"""Apply commits one by one on top of another commit, as `git rebase` does.

    for commit in commits_to_replay(tree, ours):
        pick(tree, commit)          # files and index of the temporary working tree
        commit_picked(tree, commit) # keeps the author, the date and the message of the commit

The working tree is temporary, so the files and the index of the user remain unchanged. No hook runs, because the hooks
ran when the user made each commit. git signs the new commits if `commit.gpgSign` is true.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from tfgen.git.commit import Repository


def commits_to_replay(tree: Repository, tip: str) -> list[str]:
    """List the commits of a branch that are not in HEAD, the oldest first. `tip` is the last commit of the branch.

    As in `git rebase`, the list omits merge commits, and commits whose changes are already in HEAD.
    """
    order = ("--reverse", "--topo-order", "--no-merges", "--cherry-pick", "--right-only")
    return _lines(tree, "rev-list", *order, f"HEAD...{tip}")


def pick(tree: Repository, commit: str) -> None:
    """Apply the changes of a commit to the files and the index. Files with conflicts stay unmerged in the index.

    Raises:
        TfgenError: git fails for a reason that is not a conflict.
    """
    command = tree.git("cherry-pick", "--no-commit", "--allow-empty", commit)
    done = command.done()
    if done.code and not unmerged_files(tree):
        raise command.failure(done)


def without_changes(tree: Repository, commit: str, paths: Iterable[str]) -> str:
    """Copy a commit without the changes of some files, and return the id of the copy.

    Args:
        tree: the temporary working tree. It has no changes before and after the call.
        commit: the commit to copy. The commit must have a parent.
        paths: the files that the copy does not change, as paths relative to the root.
    """
    head = os.fsdecode(tree.git("rev-parse", "HEAD").output()).strip()
    tree.git("checkout", "--quiet", "--detach", f"{commit}^").output()
    tree.git("read-tree", "--reset", "-u", commit).output()
    restore_files(tree, paths)
    written = os.fsdecode(tree.git("write-tree").output()).strip()
    message = b"Changes without rendered files\n"
    picked = os.fsdecode(tree.git("commit-tree", "-p", f"{commit}^", written, stdin=message).output()).strip()
    tree.git("checkout", "--quiet", "--force", "--detach", head).output()
    return picked


def drop_changes(tree: Repository) -> None:
    """Reset the temporary working tree and its index to HEAD, and delete untracked files."""
    tree.git("reset", "--quiet", "--hard", "HEAD").output()
    tree.git("clean", "--quiet", "--force", "-d").output()


def commit_picked(tree: Repository, commit: str) -> None:
    """Commit the index with the author, date and message of an earlier commit. Do nothing if the index is unchanged."""
    if not tree.git("diff", "--cached", "--quiet", "HEAD").done().code:
        return
    words = ("--reuse-message", commit, "--cleanup=verbatim", "--allow-empty-message")
    tree.git("-c", f"core.hooksPath={os.devnull}", "commit", "--quiet", *words).output()


def unmerged_files(tree: Repository) -> tuple[str, ...]:
    """List the files with a merge conflict, as paths relative to the root."""
    return _names(tree, "diff", "--name-only", "--diff-filter=U", "-z")


def changed_by(tree: Repository, commit: str) -> frozenset[str]:
    """Return the files that a commit changes, as paths relative to the root."""
    options = ("--root", "--no-commit-id", "--no-renames", "-r", "-z", "--name-only")
    return frozenset(_names(tree, "diff-tree", *options, commit))


def differing_files(tree: Repository, commit: str) -> frozenset[str]:
    """Return the files that differ between the index and a commit, as paths relative to the root."""
    return frozenset(_names(tree, "diff", "--cached", "--no-renames", "--name-only", "-z", commit))


def restore_files(tree: Repository, paths: Iterable[str]) -> None:
    """Restore files from HEAD in the working tree and the index. Remove a file that is not in HEAD."""
    names = sorted(set(paths))
    listed = tree.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", "--").output_of(names)
    committed = {os.fsdecode(name) for name in listed.split(b"\0") if name}
    tree.git("rm", "--quiet", "--force", "--ignore-unmatch", "--").output_of([*{*names} - committed])
    tree.git("checkout", "--quiet", "HEAD", "--").output_of(sorted(committed))


def stage_all(tree: Repository) -> None:
    """Stage all files of the temporary working tree that git does not ignore."""
    tree.git("add", "--all").output()


def _lines(tree: Repository, *arguments: str) -> list[str]:
    return os.fsdecode(tree.git(*arguments).output()).split()


def _names(tree: Repository, *arguments: str) -> tuple[str, ...]:
    return tuple(os.fsdecode(name) for name in tree.git(*arguments).output().split(b"\0") if name)

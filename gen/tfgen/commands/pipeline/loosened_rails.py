"""Find guard rails in tfgen.yaml files that a change makes weaker, such as a higher limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.errors import Problem
from tfgen.git.tree import DISK, CommitTree, Tree, by_repository, has_commit
from tfgen.job.defaults import FILE
from tfgen.job.sources import Source


def find_loosened_rails(
    paths: Iterable[Path], sources: Sequence[Source], against: str, tree: Tree = DISK
) -> tuple[Problem, ...]:
    """Return a problem for each guard rail that is weaker in a tree than in a commit.

    Args:
        paths: files and folders. The check reads each tfgen.yaml in the repositories that contain the paths.
        sources: the job files. The check also reads the untracked tfgen.yaml files of these jobs.
        against: the commit.
        tree: the version of the tfgen.yaml files.

    Raises:
        UsageError: a tfgen.yaml cannot be read.
        TfgenError: git or the disk fails.
    """
    layers = {Path(layer.file) for source in sources for layer in source.layers()}
    problems: tuple[Problem, ...] = ()
    before = CommitTree(against)
    new = by_repository(path for path in layers if before.kind(path) is None)
    for root in by_repository([path / FILE for path in paths]):
        if not has_commit(root):
            continue  # without a base of comparison, no guard rail is weaker
        files = tree.changed(root, against) | {*new.get(root, {}).values()}
        if any(Path(name).name == FILE for name in files):
            from tfgen.rails.versions import find_loosenings  # takes 20 ms, which few changes need

            problems += tuple(find_loosenings(root, files, against, tree))
    return problems

"""Find guard rails in tfgen.yaml files that a change makes weaker, such as a higher limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.git import read as git
from tfgen.job.defaults import FILE
from tfgen.job.sources import Source
from tfgen.problems import Problem


def find_loosened_rails(paths: Iterable[Path], sources: Sequence[Source], against: str) -> tuple[Problem, ...]:
    """Return a problem for each guard rail that is weaker on disk than in a commit.

    Args:
        paths: files and folders. The check reads each tfgen.yaml in the repositories that contain the paths.
        sources: the job files. The check also reads their tfgen.yaml files that git does not track yet.
        against: the commit.

    Raises:
        UsageError: a tfgen.yaml cannot be read.
        TfgenError: git or the disk fails.
    """
    layers = {Path(layer.file) for source in sources for layer in source.layers()}
    problems: tuple[Problem, ...] = ()
    for root in git.repositories([path / FILE for path in paths]):
        if files := git.changed(root, against, with_untracked=layers):
            from tfgen.change.guard_rails.versions import judge_rails  # takes 20 ms, which only a change needs

            problems += tuple(judge_rails(root, files, against))
    return problems

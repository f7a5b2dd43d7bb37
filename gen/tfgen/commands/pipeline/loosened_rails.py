"""Guard rails that a change loosens, in the repositories of some jobs.

find_loosened_rails([Path("jobs")], sources, "origin/main")
    ->  Problem("tfgen.yaml", ... "limits.job.gpus: found 32, and ... allows 16", "guard-rail-loosened", "warning")
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.git import read as git
from tfgen.job.defaults import FILE
from tfgen.job.sources import Source
from tfgen.problems import Problem


def find_loosened_rails(paths: Iterable[Path], sources: Sequence[Source], against: str) -> tuple[Problem, ...]:
    """Return a problem for each guard rail that is looser on disk than in a commit.

    Args:
        paths: files and folders. The check reads each tfgen.yaml of the repositories that contain the paths.
        sources: the jobs. The check also reads a tfgen.yaml of a job that git does not track yet.
        against: the commit.

    Raises:
        UsageError: a tfgen.yaml cannot be read.
        TfgenError: git or the disk fails.
    """
    layers = {Path(layer.file) for source in sources for layer in source.layers()}
    problems: tuple[Problem, ...] = ()
    for root in git.repositories([path / FILE for path in paths]):
        if files := git.changed(root, against, with_untracked=layers):
            from tfgen.change.guard_rails.versions import judge_rails  # 20 ms, which only a change costs

            problems += tuple(judge_rails(root, files, against))
    return problems

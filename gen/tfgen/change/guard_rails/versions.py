"""The guard rails on disk, compared with the guard rails of a commit.

    tfgen.yaml:3:22: warning: limits.job.gpus: found 32, but tfgen.yaml:3:22 of origin/main allows 16 [...]

The tfgen.yaml of the commit sets the severity of such a problem. So nobody can loosen a guard rail and switch off the
problem in the same change.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from tfgen.change.guard_rails.allowed import UNLISTED_FILES
from tfgen.change.guard_rails.layers import Layers, Loosening
from tfgen.change.guard_rails.loosened import find_loosened
from tfgen.check.enforced_paths import check_enforced_paths
from tfgen.check.severities import LOOSENED, with_severities
from tfgen.check.source import GUARD_RAILS, LayerResult, read_layer
from tfgen.git.tree import DISK, CommitTree, Tree
from tfgen.job.defaults import FILE
from tfgen.job.sources import defaults_in
from tfgen.problems import Place, Problem
from tfgen.real_path import whole_path
from tfgen.text.document import Document


def find_loosenings(root: Path, files: Collection[str], against: str, tree: Tree = DISK) -> Iterator[Problem]:
    """Yield a problem for each guard rail that the changed files of a repository loosen.

    Args:
        root: the root of the repository.
        files: the files that differ from the commit, as paths relative to the root.
        against: the commit.
        tree: the version of the changed files.

    Raises:
        UsageError: the commit does not exist, or a tfgen.yaml cannot be read.
        TfgenError: git or the disk fails.
    """
    paths = [Path(os.path.relpath(root / name)) for name in files]
    before, after = _LayerReader(CommitTree(against)), _LayerReader(tree)
    concerned = {path.parent for path in paths if path.name == FILE}
    reported: set[Place] = set()
    for folder in sorted(concerned, key=lambda folder: (len(whole_path(folder).parts), folder)):
        rails, changed = before.layer_of(folder).defaults, after.layer_of(folder)
        if changed.problems:
            loosenings = [*_broken_file_loosening(rails, changed.problems[0], against)]
        else:
            loosenings = [*find_loosened(Layers(rails, changed.defaults, against))]
        new = [loosening for loosening in loosenings if loosening.rail not in reported]
        reported |= {loosening.rail for loosening in new}
        problems = (Problem(*loosening.place, loosening.message, LOOSENED, "warning") for loosening in new)
        yield from with_severities(rails, problems)


class _LayerReader:
    """Reader of the tfgen.yaml files in one version of the repository. The reader reads each file only once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._layers: dict[str, LayerResult] = {}

    def layer_of(self, folder: Path) -> LayerResult:
        """Return the tfgen.yaml of a folder, merged over the files of parent folders, or the problems of these files.

        The problems do not include guard rails that are looser than in a parent folder.
        """
        result = read_layer(defaults_in(self._tree, folder / FILE), self._layers, is_guarded=False)
        layer = result.defaults
        problems: list[Problem] = []
        while layer is not None:
            problems += check_enforced_paths(layer)
            layer = layer.under
        return LayerResult(problems=tuple(problems)) if problems else result


def _broken_file_loosening(before: Document | None, problem: Problem, against: str) -> Iterator[Loosening]:
    """Yield a loosening if a tfgen.yaml has errors after the change, because tfgen cannot read its guard rails.

    Yield nothing if the tfgen.yaml files of the base contain no guard rail.

    Args:
        before: the tfgen.yaml in the base, merged over the files of parent folders; None without a file.
        problem: the first error of the changed file.
        against: the revision of the base.
    """
    for layer in () if before is None else before.layers():
        if rail := next((key for key in (*GUARD_RAILS, UNLISTED_FILES) if key in layer.data), None):
            place = layer.place((rail,))
            message = (
                f"the file has errors, so tfgen cannot read its guard rails, but {place} of {against} sets {rail}; "
                "correct the errors"
            )
            yield Loosening(place, problem.place, message)
            return

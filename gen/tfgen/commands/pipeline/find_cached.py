"""Find job files that need no check and no render: their results are cached, and their rendered files are on disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.check.cached_files import CachedFile, read_cached_files
from tfgen.check.manifests import Manifest
from tfgen.git.tree import DISK, Tree
from tfgen.job.sources import Source
from tfgen.tree.write import find_unchanged


def find_cached(
    sources: Iterable[Source], out: Path, manifests: Sequence[Manifest] = (), tree: Tree = DISK
) -> dict[str, CachedFile]:
    """Return the cached results of the job files whose rendered files are unchanged, by the name of the job file.

    Args:
        sources: the job files with their defaults.
        out: the output folder.
        manifests: the hand-written manifests of the repository, such as quotas.
        tree: the version of the rendered files.

    Raises:
        TfgenError: the disk cannot be read.
    """
    files = read_cached_files(sources, manifests)
    unchanged = find_unchanged(out, [ledger for file in files.values() for ledger in file.ledgers.items()], tree)
    return {name: file for name, file in files.items() if file.ledgers.items() <= unchanged}

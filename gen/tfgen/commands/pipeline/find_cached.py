"""Job files that need no check and no rendering: the cache has their results, and the disk has their rendered files.

cached = find_cached(sources, Path("."))
cached["jobs/mnist/job.yaml"].rule_problems  ->  (Problem("jobs/mnist/job.yaml", ... "latest-tag"),)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.check.manifests import Manifest
from tfgen.commands.pipeline.cached_files import CachedFile, read_cached_files
from tfgen.job.sources import Source
from tfgen.tree.write import find_unchanged


def find_cached(sources: Iterable[Source], out: Path, manifests: Sequence[Manifest] = ()) -> dict[str, CachedFile]:
    """Return the cached results of the files that need no check and no rendering, by name.

    Args:
        sources: the files, and all defaults under them.
        out: the output folder.
        manifests: the objects of the repository that apply to the namespaces of the jobs.

    Raises:
        TfgenError: the disk cannot be read.
    """
    files = read_cached_files(sources, manifests)
    unchanged = find_unchanged(out, [ledger for file in files.values() for ledger in file.ledgers.items()])
    return {name: file for name, file in files.items() if file.ledgers.items() <= unchanged}

"""Which files need nothing: those that are known, of which all that was rendered is on disk.

known = find_known(sources, Path("."))
known["jobs/mnist/job.yaml"].of_rules  ->  (Problem("jobs/mnist/job.yaml", ... "latest-tag"),)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.check.manifests import Manifest
from tfgen.commands.pipeline.cached_files import KnownFile, recall_files
from tfgen.job.sources import Source
from tfgen.tree.write import find_unchanged


def find_known(sources: Iterable[Source], out: Path, manifests: Sequence[Manifest] = ()) -> dict[str, KnownFile]:
    """The files that are known, by name.

    Args:
        sources: the files, and all defaults under them.
        out: the output folder.
        manifests: what the objects are held against beside.

    Raises:
        TfgenError: the disk cannot be read.
    """
    files = recall_files(sources, manifests)
    unchanged = find_unchanged(out, [ledger for file in files.values() for ledger in file.ledgers.items()])
    return {name: file for name, file in files.items() if file.ledgers.items() <= unchanged}

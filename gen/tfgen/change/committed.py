"""Pairs of a job file and the committed version of the file, as text that tfgen has not parsed yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tfgen.git import read as git
from tfgen.job.sources import Source, defaults_paths, defaults_under


def find_committed(sources: Sequence[Source], revision: str) -> set[str]:
    """Return the names of the job files that are unchanged since a revision, together with all their layers.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    pairs = with_committed(sources, (source.file for source in sources), revision)
    return {committed.file for source, committed in pairs if source and source.identity == committed.identity}


def with_committed(
    sources: Sequence[Source], files: Iterable[str], revision: str
) -> Iterator[tuple[Source | None, Source]]:
    """Yield the current version and the committed version of each job file in `files`.

    Omit files that the commit `revision` lacks. The current version comes from `sources`. The current version is None
    for a file that is not in `sources`, such as a deleted file. The committed version has the content, and the
    tfgen.yaml files, of the commit.
    """
    now = {source.file: source for source in sources}
    paths = [Path(file) for file in dict.fromkeys(files)]
    layers = dict.fromkeys(layer for path in paths for layer in defaults_paths(path))
    contents = git.committed_files([*paths, *layers], revision)
    for path in paths:
        if path in contents:
            yield now.get(str(path)), Source(str(path), contents[path], defaults_under(path, contents.get))

"""The files of jobs beside their committed versions, before any of them is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tfgen.git import read as git
from tfgen.job.sources import Source, defaults_paths, defaults_under


def find_committed(sources: Sequence[Source], revision: str) -> set[str]:
    """The names of the files that are as they are committed, with all defaults under them.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git fails.
    """
    pairs = with_committed(sources, (source.file for source in sources), revision)
    return {committed.file for source, committed in pairs if source and source.identity == committed.identity}


def with_committed(
    sources: Sequence[Source], files: Iterable[str], revision: str
) -> Iterator[tuple[Source | None, Source]]:
    """The files as they are, if they are there, and as they are committed, each over the defaults of its own time."""
    now = {source.file: source for source in sources}
    paths = [Path(file) for file in dict.fromkeys(files)]
    layers = dict.fromkeys(layer for path in paths for layer in defaults_paths(path))
    contents = git.committed_files([*paths, *layers], revision)
    for path in paths:
        if path in contents:
            yield now.get(str(path)), Source(str(path), contents[path], defaults_under(path, contents.get))

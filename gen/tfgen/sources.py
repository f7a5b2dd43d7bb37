"""The job files that a command is given: read from disk, nothing else.

read_sources([Path("examples")])  ->  [Source("examples/dist-mnist/job.yaml", "apiVersion: tfgen/...")]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tfgen.document import MAX_BYTES
from tfgen.errors import UsageError

# In a folder, a file is ours when a document of it says so: a GitOps repository is full of other YAML.
_OURS: Final = re.compile(rb"^[\"']?apiVersion[\"']?:\s*[\"']?tfgen/", re.MULTILINE)
_SUFFIXES: Final = (".yaml", ".yml")


@dataclass(frozen=True)
class Source:
    """A file's name as it is to be reported, and its bytes."""

    file: str
    content: bytes


def read_sources(paths: Iterable[Path]) -> list[Source]:
    """The files named, and of each folder those below it that hold a tfgen document; each once, in order of name.

    Raises:
        UsageError: a path that cannot be read, or a folder without any such file.
    """
    sources: dict[str, Source] = {}
    for path in paths:
        found = list(_below(path)) if path.is_dir() else [Source(str(path), _read(path))]
        if not found:
            raise UsageError(f"{path}: no file below it holds a document with apiVersion tfgen/...")
        sources |= {source.file: source for source in found}
    return list(sources.values())


def _below(folder: Path) -> Iterator[Source]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix in _SUFFIXES and not hidden and path.is_file():
            content = _read(path)
            if _OURS.search(content):
                yield Source(str(path), content)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)  # one more than the reader takes, so that it says what is wrong
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error

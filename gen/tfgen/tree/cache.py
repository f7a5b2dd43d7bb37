"""What was worked out once, from run to run: a value by a digest of all that it follows from.

    keep({key([b"replicas: 4"]): {"warnings": []}})
    recall(key([b"replicas: 4"]))  ->  {"warnings": []}; None where it is not known

The entries are files of `$XDG_CACHE_HOME/tfgen/jobs`, or of `~/.cache/tfgen/jobs`, where neither git nor `tfgen check`
sees them. An entry never gets out of date, since its key has the bytes that it follows from and this build of tfgen. So
to remove any of them changes the time of the next run alone. An entry that is not whole counts as one that is not
there; and a disk that does not take one is no error.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tfgen import __version__
from tfgen.tree.disk_file import temporary_name

MOST: Final = 80
"""Entries with the same first two digits of their keys, so of 256 times as many; the oldest go first."""
_LONGEST: Final = 100_000
"""Bytes of an entry; the value of a usual job has two kilobytes."""


def key(parts: Iterable[bytes]) -> str:
    """The SHA-256 of some texts and of this build of tfgen."""
    digest = hashlib.sha256(_build())
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


def recall(entry: str) -> Any:
    """The value of an entry; None where there is none that is whole."""
    above = folder()
    if above is None:
        return None
    try:
        text = _path(above, entry).read_bytes()
        head, _, body = text.partition(b"\n")
        return json.loads(body) if head.decode() == _seal(entry, body) else None
    except (OSError, ValueError):
        return None


def keep(values: Mapping[str, Any]) -> None:
    """Keep values by their keys, as far as the disk takes them."""
    above = folder()
    if above is None:
        return
    with suppress(OSError):
        for entry, value in values.items():
            body = json.dumps(value, separators=(",", ":")).encode()
            if len(body) <= _LONGEST:
                _write(_path(above, entry), f"{_seal(entry, body)}\n".encode() + body)
        for below in {_path(above, entry).parent for entry in values}:
            _remove_oldest(below)


def _seal(entry: str, body: bytes) -> str:
    """What tells a whole entry from a part of one, and from that of another key."""
    return hashlib.sha256(entry.encode() + body).hexdigest()


def folder() -> Path | None:
    """The folder of all entries; None where the user has no home."""
    with suppress(RuntimeError):
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (named if named.is_absolute() else Path.home() / ".cache") / "tfgen" / "jobs"
    return None


def _path(above: Path, entry: str) -> Path:
    return above / entry[:2] / entry[2:]


def _write(path: Path, text: bytes) -> None:
    """Another process sees the whole entry or none."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parents[1] / ".gitignore").write_text("*\n")  # the folder may be within a repository
    temporary = path.with_name(temporary_name())
    try:
        temporary.write_bytes(text)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _remove_oldest(folder: Path) -> None:
    paths = [*folder.iterdir()]
    if len(paths) <= MOST:
        return
    for path in sorted(paths, key=_age)[: len(paths) - MOST]:
        with suppress(OSError):
            path.unlink()


def _age(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0


@functools.cache
def _build() -> bytes:
    """What tells this tfgen from another: its version, and the sizes and times of its files, as a checkout has them."""
    package = Path(__file__).parents[1]
    return json.dumps([__version__, *_files(package), *_files(package.parents[1] / "schemas")]).encode()


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """The files below a folder, by name, with their sizes and times; none where there is no such folder."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(Path(entry.path))
            else:
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns

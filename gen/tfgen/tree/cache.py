"""Cache on disk for the results of earlier commands. The key of a result is a digest of all inputs of the result.

    key = cache_key([b"replicas: 4"])
    store_results({key: {"warnings": []}})
    cached_result(key)  # {"warnings": []}

Each cache entry is a file in `$XDG_CACHE_HOME/tfgen/jobs`, or in `~/.cache/tfgen/jobs`. Only tfgen reads these folders.

An entry never becomes stale, because its key includes the content of the inputs and the build of tfgen. A user may
delete entries at any time; the next command then computes the results again. tfgen ignores an incomplete entry, and a
failure to write an entry is no error.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tfgen import __version__
from tfgen.disk_file import temporary_name

MOST: Final = 80
"""Maximum number of cache entries in one subfolder.

A subfolder contains the entries whose keys begin with the same two hexadecimal digits, so the cache has at most 256
subfolders. tfgen deletes the oldest entries first.
"""
_LONGEST: Final = 200_000
"""Maximum size of a cache entry in bytes. The results of a usual job have two kilobytes, and the templates have
50 to 120 kilobytes."""


def cache_key(parts: Iterable[bytes]) -> str:
    """Return the cache key for some inputs: the SHA-256 of the inputs and of this build of tfgen."""
    digest = hashlib.sha256(_build())
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


def cached_result(entry: str) -> Any:
    """Return the result of an earlier command with the cache key `entry`; None if the cache has no complete entry."""
    parent = folder()
    if parent is None:
        return None
    try:
        text = _path(parent, entry).read_bytes()
        head, _, body = text.partition(b"\n")
        return json.loads(body) if head.decode() == _checksum(entry, body) else None
    except (OSError, ValueError):
        return None


def cached_texts(parts: Iterable[bytes], compute: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
    """Return the texts of files that depend only on the given inputs. The result has the texts by path.

    Example: {"templates/service.yaml": "apiVersion: v1 ..."}. If the cache lacks the texts, the function calls
    `compute`, and stores the computed texts in the cache.

    Args:
        parts: the inputs.
        compute: function that returns the text of each file by path, for at least one file.
    """
    entry = cache_key(parts)
    cached = cached_result(entry)
    if isinstance(cached, dict) and cached and all(isinstance(text, str) for text in cached.values()):
        return cached
    texts = compute()
    store_results({entry: texts})
    return texts


def store_results(values: Mapping[str, Any]) -> None:
    """Write results to the cache. `values` has the results by cache key. A full disk is no error."""
    parent = folder()
    if parent is None:
        return
    with suppress(OSError):
        for entry, value in values.items():
            body = json.dumps(value, separators=(",", ":")).encode()
            if len(body) <= _LONGEST:
                _write(_path(parent, entry), f"{_checksum(entry, body)}\n".encode() + body)
        for subfolder in {_path(parent, entry).parent for entry in values}:
            paths = [*subfolder.iterdir()]
            for path in sorted(paths, key=_age)[:-MOST] if len(paths) > MOST else ():
                with suppress(OSError):
                    path.unlink()


def _checksum(entry: str, body: bytes) -> str:
    """Return the checksum of a cache entry. `cached_result` ignores an entry with a wrong checksum."""
    return hashlib.sha256(entry.encode() + body).hexdigest()


def folder() -> Path | None:
    """Return the folder of the cache; None if the user has no home folder."""
    with suppress(RuntimeError):
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (named if named.is_absolute() else Path.home() / ".cache") / "tfgen" / "jobs"
    return None


def _path(root: Path, entry: str) -> Path:
    return root / entry[:2] / entry[2:]


def _write(path: Path, text: bytes) -> None:
    """Write a cache entry atomically, so that another process reads either the complete entry or no entry."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parents[1] / ".gitignore").write_text("*\n")  # the folder may be in a repository
    temporary = path.with_name(temporary_name())
    try:
        temporary.write_bytes(text)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _age(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0


@functools.cache
def _build() -> bytes:
    """Return the identity of this build of tfgen: the version, and the size and modification time of the sources."""
    package = Path(__file__).parents[1]
    return json.dumps([__version__, *_files(package), *_files(package.parents[1] / "schemas")]).encode()


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield the path, the size and the modification time of each file below a folder, in the order of the file names.

    The modification time is in nanoseconds. For a missing folder, yield nothing.
    """
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(Path(entry.path))
            else:
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns

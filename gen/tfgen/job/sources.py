"""The job files of a command and their layers, from disk or standard input.

read_sources([Path("jobs")])  ->  [Source("jobs/mnist/job.yaml", OnDisk(...), Source("tfgen.yaml", b"..."))]

Each access reads a job file again; the content of a layer stays in memory.

The defaults are layers: each tfgen.yaml from the root of the repository to the folder of the job is merged over the
layer above.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from tfgen.errors import TfgenError, UsageError
from tfgen.job.defaults import FILE, says_root
from tfgen.job.output_root import root_above
from tfgen.problems import Problem
from tfgen.real_path import real_path
from tfgen.record import Record
from tfgen.text.parse import MAX_BYTES, decode
from tfgen.tree.disk_file import read_file

# In a folder, a file is ours when a document of it says so: a GitOps repository is full of other YAML.
_OURS: Final = re.compile(rb"^[\"']?apiVersion[\"']?:\s*[\"']?tfgen/", re.MULTILINE)
_SUFFIXES: Final = (".yaml", ".yml")

STDIN: Final = Path("-")
"""Standard input, in place of a file."""
_STDIN_NAME: Final = "<stdin>"


class OnDisk(NamedTuple):
    """The content of a file that each access reads again, so that the contents of many files are not in memory at once.

    Attributes:
        digest: the SHA-256 of the content.
    """

    digest: bytes


class Source(Record):
    """A file with its name for messages, its content, and its defaults.

    Attributes:
        content: the content, or a reference to the file on disk.
        defaults: the nearest tfgen.yaml, from the folder of a job upwards, or from the folder above a tfgen.yaml.
        left_out: the nearest tfgen.yaml above a tfgen.yaml with `root: true`, which does not inherit from it.
    """

    file: str
    content: bytes | str | OnDisk
    defaults: Source | None = None
    left_out: Source | None = None

    def read(self) -> bytes | str:
        """Return the content.

        Raises:
            TfgenError: the file has changed.
            UsageError: the file can no longer be read.
        """
        if not isinstance(self.content, OnDisk):
            return self.content
        content, _ = _read(Path(self.file))
        if _digest(content) != self.content.digest:
            raise TfgenError(f"{self.file}: the file changed while tfgen ran; run the command again")
        return content

    def text(self) -> str | Problem:
        """Return the content as text, or the problem of a content that is not text. Raises the errors of `read`."""
        content = self.read()
        return content if isinstance(content, str) else decode(content, self.file)

    @cached_property
    def name(self) -> str:
        """The `source_name` of the file."""
        return source_name(Path(self.file))

    @property
    def identity(self) -> Any:
        """The identity of the source: equal for sources with the same name, content, defaults and left-out layer."""
        digest = self.content.digest if isinstance(self.content, OnDisk) else _digest(self.content)
        around = (self.defaults, self.left_out)
        return (self.file, digest, *(source.identity if source else None for source in around))

    def layers(self) -> Iterator[Source]:
        """Yield the layers of the file, the nearest first."""
        if self.defaults is not None:
            yield self.defaults
            yield from self.defaults.layers()


def read_sources(paths: Iterable[Path], *, may_be_none: bool = False, takes_stdin: bool = False) -> list[Source]:
    """Return the named files, and the files with a tfgen document below each named folder, once each and sorted.

    Args:
        paths: files and folders.
        may_be_none: whether to accept a folder without such files, and a path that does not exist.
        takes_stdin: whether "-" means standard input, with the layers of the working directory.

    Raises:
        UsageError: "-" is not allowed, a path cannot be read, or a folder has no such file.
    """
    sources: dict[str, Source] = {}
    layers = _Layers()
    for path in paths:
        if path == STDIN:
            path_sources = [_from_stdin(layers, takes_stdin=takes_stdin)]
        elif may_be_none and not path.exists():
            continue
        else:
            path_sources = list(_sources_in(path, layers)) if path.is_dir() else [_source(path, layers)]
        if not path_sources and not may_be_none:
            raise no_job_below([path])
        sources |= {source.file: source for source in path_sources}
    return list(sources.values())


def _from_stdin(layers: _Layers, *, takes_stdin: bool) -> Source:
    if not takes_stdin:
        raise UsageError(
            "-: only tfgen check and tfgen render --stdout read standard input; pass a file to other commands"
        )
    if sys.stdin is None:
        raise UsageError("-: standard input is closed")
    try:
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"-: {error.strerror}") from error
    return Source(_STDIN_NAME, content, layers.under(STDIN))


def no_job_below(paths: Iterable[Path]) -> UsageError:
    """Return the error for paths without any job."""
    return UsageError(f"{', '.join(map(str, paths))}: no file below it holds a document with apiVersion tfgen/...")


def source_name(path: Path) -> str:
    """Return the path of a job file or folder from its repository's root, whatever the working directory is."""
    whole = real_path(path)
    folder = whole if whole.is_dir() else whole.parent
    return whole.relative_to(root_above(folder) or folder).as_posix()


def has_name_of_job(path: Path) -> bool:
    """Return whether a file below a folder may contain jobs, by its name."""
    return path.suffix in _SUFFIXES and path.name != FILE


def holds_job(content: bytes) -> bool:
    """Return whether a document in the content of a file has an apiVersion of tfgen."""
    return _OURS.search(content) is not None


def _source(path: Path, layers: _Layers) -> Source:
    content, is_file = _read(path)  # a pipe can be read only once
    return Source(str(path), OnDisk(_digest(content)) if is_file else content, layers.under(path))


def _sources_in(folder: Path, layers: _Layers) -> Iterator[Source]:
    for path in _walk_files(folder):
        if has_name_of_job(path) and _is_file(path):
            content, _ = _read(path)
            if holds_job(content):
                yield Source(str(path), OnDisk(_digest(content)), layers.under(path))


def _walk_files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder that are not hidden, in order. Only a few names are in memory at once.

    Raises:
        UsageError: a folder cannot be read. Its jobs would look like removed jobs.
    """
    parent, folders, names = next(os.walk(folder, onerror=_unreadable))
    folder_names = {*folders}
    for name in sorted(name for name in (*folders, *names) if not name.startswith(".")):
        path = Path(parent) / name
        if name not in folder_names:
            yield path
        elif not path.is_symlink():
            yield from _walk_files(path)


def _is_file(path: Path) -> bool:
    """Return whether a path leads to a file. A link to a missing file does not.

    Raises:
        UsageError: the disk cannot tell, for example because of a cycle of links. The path may be a job.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _unreadable(error: OSError) -> NoReturn:
    raise UsageError(f"{error.filename}: {error.strerror}") from error


class _Layers:
    """The layers on disk. Each file is read once."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes | None] = {}
        self._of_folders: dict[tuple[Path, bool], Source | None] = {}

    def under(self, job: Path) -> Source | None:
        """Return the nearest layer of a job file."""
        folder = real_path(job).parent, job.is_absolute()
        if folder not in self._of_folders:
            self._of_folders[folder] = defaults_under(job, self._content)
        return self._of_folders[folder]

    def _content(self, path: Path) -> bytes | None:
        if path not in self._contents:
            self._contents[path] = read_defaults_file(path)
        return self._contents[path]


def defaults_under(job: Path, content: Callable[[Path], bytes | None]) -> Source | None:
    """Return the nearest layer of a job file, with the layers above.

    Args:
        job: the file, which may be missing.
        content: returns the content of a tfgen.yaml; None if the file is missing. Called for paths of `defaults_paths`.
    """
    under: Source | None = None
    for path in reversed(defaults_paths(job)):
        of_folder = content(path)
        if of_folder is not None:
            is_root = says_root(of_folder)
            under = Source(str(path), of_folder, None if is_root else under, under if is_root else None)
    return under


def defaults_on_disk(job: Path) -> Source | None:
    """Return the nearest tfgen.yaml on disk of a job's file, over the files above.

    Raises:
        UsageError: a tfgen.yaml cannot be read.
    """
    return _Layers().under(job)


def defaults_paths(job: Path) -> tuple[Path, ...]:
    """Return the possible paths of layers: in the job's folder and in each folder up to the repository's root.

    The paths are absolute or relative, like the path of the job.
    """
    folder = real_path(job).parent
    paths = []
    for candidate in (folder, *folder.parents):
        paths.append(candidate / FILE)
        if (candidate / ".git").exists():
            break
    return tuple(paths) if job.is_absolute() else tuple(Path(os.path.relpath(path)) for path in paths)


def read_defaults_file(path: Path) -> bytes | None:
    """Return the content of a tfgen.yaml; None where no such file exists.

    Raises:
        UsageError: something has the name of a tfgen.yaml and cannot be read, so that jobs would lack their defaults.
    """
    if not os.path.lexists(path):
        return None
    try:
        return read_file(path, MAX_BYTES + 1)
    except TfgenError as error:
        raise UsageError(
            f"{error}; the jobs below take their defaults from this file: correct or delete the file"
        ) from error


def _read(path: Path) -> tuple[bytes, bool]:
    """Return the content of a file, and whether the file can be read again."""
    try:
        with path.open("rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(MAX_BYTES + 1), is_file  # one more byte than allowed, so that the reader reports the size
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _digest(content: bytes | str) -> bytes:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).digest()

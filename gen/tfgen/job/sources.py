"""The job files that a command is given, and the defaults under them: from disk or standard input.

read_sources([Path("jobs")])  ->  [Source("jobs/mnist/job.yaml", OnDisk(...), Source("tfgen.yaml", b"..."))]

A job file is read again where its content is asked for; that of the defaults stays in memory.

The defaults are layers: each tfgen.yaml from the repository's root to the job's folder is merged over the one above it.
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
    """The content of a file that is read again where it is asked for, so that those of many are not in memory at once.

    Attributes:
        digest: its SHA-256.
    """

    digest: bytes


class Source(Record):
    """A file's name as it is to be reported, its content, and what is merged under it.

    Attributes:
        content: what `read` gives, or where that is.
        defaults: the nearest tfgen.yaml, from the folder of a job upwards, or from the one above a tfgen.yaml.
        left_out: the nearest one above a tfgen.yaml that says `root: true`, for which it does not count.
    """

    file: str
    content: bytes | str | OnDisk
    defaults: Source | None = None
    left_out: Source | None = None

    def read(self) -> bytes | str:
        """The content.

        Raises:
            TfgenError: the file is not what it was.
            UsageError: it cannot be read any more.
        """
        if not isinstance(self.content, OnDisk):
            return self.content
        content, _ = _read(Path(self.file))
        if _digest(content) != self.content.digest:
            raise TfgenError(f"{self.file}: was changed while tfgen ran; run this again")
        return content

    def text(self) -> str | Problem:
        """The content as text, or what keeps it from being one. Raises as `read` does."""
        content = self.read()
        return content if isinstance(content, str) else decode(content, self.file)

    @cached_property
    def name(self) -> str:
        """`source_name` of the file, for which the disk is asked once."""
        return source_name(Path(self.file))

    @property
    def identity(self) -> Any:
        """What it shares with those alone of the same name and content, with the same under it and left out of it."""
        digest = self.content.digest if isinstance(self.content, OnDisk) else _digest(self.content)
        around = (self.defaults, self.left_out)
        return (self.file, digest, *(source.identity if source else None for source in around))

    def layers(self) -> Iterator[Source]:
        """The defaults under it, the nearest first."""
        if self.defaults is not None:
            yield self.defaults
            yield from self.defaults.layers()


def read_sources(paths: Iterable[Path], *, may_be_none: bool = False, takes_stdin: bool = False) -> list[Source]:
    """The files named, and of each folder those below it that hold a tfgen document; each once, in order of name.

    Args:
        paths: files and folders.
        may_be_none: whether a folder may have no such file, and a path not be there at all.
        takes_stdin: whether "-" stands for standard input, under which are the defaults of the working directory.

    Raises:
        UsageError: "-" where it stands for nothing, a path that cannot be read, or a folder without any such file.
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
            "-: standard input is read by tfgen check and by tfgen render --stdout; all else belongs to a file in git"
        )
    if sys.stdin is None:
        raise UsageError("-: standard input is closed")
    try:
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"-: {error.strerror}") from error
    return Source(_STDIN_NAME, content, layers.under(STDIN))


def no_job_below(paths: Iterable[Path]) -> UsageError:
    """The error of who looked for jobs where there are none."""
    return UsageError(f"{', '.join(map(str, paths))}: no file below it holds a document with apiVersion tfgen/...")


def source_name(path: Path) -> str:
    """A job's file, or a folder of such, from the root of its repository: the same from wherever a command is given."""
    whole = real_path(path)
    folder = whole if whole.is_dir() else whole.parent
    return whole.relative_to(root_above(folder) or folder).as_posix()


def has_name_of_job(path: Path) -> bool:
    """Whether a file below a folder may hold jobs, by its name."""
    return path.suffix in _SUFFIXES and path.name != FILE


def holds_job(content: bytes) -> bool:
    """Whether a document in a file's content says that it is tfgen's."""
    return _OURS.search(content) is not None


def _source(path: Path, layers: _Layers) -> Source:
    content, is_file = _read(path)  # a pipe has its content once
    return Source(str(path), OnDisk(_digest(content)) if is_file else content, layers.under(path))


def _sources_in(folder: Path, layers: _Layers) -> Iterator[Source]:
    for path in _walk_files(folder):
        if has_name_of_job(path) and _is_file(path):
            content, _ = _read(path)
            if holds_job(content):
                yield Source(str(path), OnDisk(_digest(content)), layers.under(path))


def _walk_files(folder: Path) -> Iterator[Path]:
    """All files below a folder that are not hidden, in order; few of their names are in memory at once.

    Raises:
        UsageError: a folder cannot be read. It may hold jobs, which would be taken for removed.
    """
    above, folders, names = next(os.walk(folder, onerror=_unreadable))
    below = {*folders}
    for name in sorted(name for name in (*folders, *names) if not name.startswith(".")):
        path = Path(above) / name
        if name not in below:
            yield path
        elif not path.is_symlink():
            yield from _walk_files(path)


def _is_file(path: Path) -> bool:
    """Whether a path leads to a file. A link that leads to nothing does not.

    Raises:
        UsageError: the disk does not say, as of a link that leads in a circle: it may be meant for a job.
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
    """The defaults on disk, each file read once."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes | None] = {}
        self._of_folders: dict[tuple[Path, bool], Source | None] = {}

    def under(self, job: Path) -> Source | None:
        """The defaults of a job's file."""
        folder = real_path(job).parent, job.is_absolute()
        if folder not in self._of_folders:
            self._of_folders[folder] = defaults_under(job, self._content)
        return self._of_folders[folder]

    def _content(self, path: Path) -> bytes | None:
        if path not in self._contents:
            self._contents[path] = read_defaults_file(path)
        return self._contents[path]


def defaults_under(job: Path, content: Callable[[Path], bytes | None]) -> Source | None:
    """The nearest defaults of a job's file, with those above them.

    Args:
        job: the file, which need not be there.
        content: what a tfgen.yaml holds; None where there is none. It is asked for some of `defaults_paths`.
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
    """Where defaults of a job's file may be: in its folder, and in each above it up to the root of its repository.

    They are named as the job is: by absolute paths or by some from here.
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
        raise UsageError(f"{error}; the jobs below it take their defaults from it: mend it, or remove it") from error


def _read(path: Path) -> tuple[bytes, bool]:
    """The content of a file, and whether it can be read again."""
    try:
        with path.open("rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(MAX_BYTES + 1), is_file  # one more than the reader takes, so that it says what is wrong
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _digest(content: bytes | str) -> bytes:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).digest()

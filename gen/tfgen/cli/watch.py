"""``--watch``: run a command again after each change of the files that the command reads.

The watcher follows whole repositories, because `git checkout` may delete a folder and create it again.
A change during a run stays in the queue of the watcher, so the last run always starts after the last change.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from watchfiles._rust_notify import RustNotify

from tfgen.cli.arguments import Watched
from tfgen.cli.output import INTERRUPTED, USAGE, print_message, print_result
from tfgen.disk_file import repository_root, whole_path
from tfgen.errors import TfgenError, UsageError
from tfgen.git.command import Git, is_installed
from tfgen.job.sources import FILE, JOB_SUFFIXES, STDIN, root_above
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.tree.ledger import LEDGER_FOLDER
from tfgen.words import count

_STEP_MS: Final = 5
"""The time between two looks for changes. The default of watchfiles is 50 ms."""
_PAUSE_MS: Final = 3
"""A burst of changes ends with this time without a change."""
_LONGEST_BURST_S: Final = 1
_LONGEST_BURST_MS: Final = 1_000 * _LONGEST_BURST_S
_POLL_MS: Final = 300
_VERSIONS: Final = ("HEAD", "packed-refs", "refs", "reftable")
"""The files of git that name the commit of a branch."""
_SETTINGS: Final = (".gitattributes", ".gitignore", ".helmignore", ".sourceignore")
"""Files without the suffix of YAML that `tfgen check` reads."""

_State: TypeAlias = tuple[int, int, int] | None


class _Places(Record):
    """The places at which a change matters.

    Attributes:
        jobs: the files and folders of the command line.
        rendered: the folders of rendered files.
        versions: the files and folders of git that name commits.
        manifests: the folders with other YAML files that the command reads.
    """

    jobs: tuple[Path, ...]
    rendered: tuple[Path, ...]
    versions: tuple[Path, ...]
    manifests: tuple[Path, ...]

    def matters(self, path: Path) -> bool:
        """Return whether a change of a path may change the result of the command."""
        if _is_at(path, self.versions):
            return path.suffix != ".lock"
        if ".git" in path.parts:
            return False
        if path in self.jobs or _is_at(path, self.rendered) or path.name == FILE:
            return True
        if any(job.is_relative_to(path) for job in self.jobs):
            return True
        read = next((folder for folder in (*self.jobs, *self.manifests) if path.is_relative_to(folder)), None)
        if read is None or any(name.startswith(".") for name in path.relative_to(read).parts[:-1] if name != ".github"):
            return False
        if path.suffix in JOB_SUFFIXES or path.name in _SETTINGS:
            return not path.name.startswith(".#")  # a lock of Emacs
        # The only event of a moved folder names the folder. Whether a missing path was a folder is unknown.
        return read in self.jobs and path.name[0] != "." and (path.is_dir() or not (path.suffix or _state(path)))


def watch(args: Namespace, watched: Watched, run: Callable[[], int]) -> int:
    """Run a command, and run the command again after each change, until Ctrl-C. Return the exit code of the last run.

    If the first run returns the exit code for wrong usage, the function returns at once.

    Args:
        args: the command line.
        watched: what the command reads and writes.
        run: runs the command, prints its result or its error, and returns the exit code.

    Raises:
        UsageError: an option does not fit to --watch.
        TfgenError: the system cannot watch the files.
    """
    options = {f"--{name}": vars(args)[name] for name in watched.refuses}
    given = [option for option, value in options.items() if value]
    given += [f"--format {args.format}"] if args.format != "text" else []
    given += ["-"] if STDIN in args.jobs else []
    if given:
        raise UsageError(f"--watch prints text about files on disk, for a person; remove {given[0]}")
    places = _places(args, watched)
    code, is_first = INTERRUPTED, True
    try:
        with _watcher(places) as watcher:
            while True:
                code = run()
                if is_first and code == USAGE:
                    return code
                places = _places(args, watched)
                left = _states(places.rendered) if watched.writes else None
                gc.collect()
                if is_first:
                    gc.freeze()  # later collections skip the modules, and take a few milliseconds
                    print_message("watching for changes; press Ctrl-C to end")
                is_first = False
                changed = _next_changes(watcher, places, left)
                # The first of the changed files, job files before files of tfgen and git, and the number of the others.
                own = (*places.versions, *places.rendered)
                first = os.path.relpath(min(changed, key=lambda path: (_is_at(path, own), path)))
                others = f" and {count(len(changed) - 1, 'other path')}" if len(changed) > 1 else ""
                print_result(f"\n{time.strftime('%H:%M:%S')} {first}{others}", flush=True)
    except KeyboardInterrupt:
        return code


def _places(args: Namespace, watched: Watched) -> _Places:
    jobs = tuple(map(whole_path, args.jobs))
    folders = [job if job.is_dir() else job.parent for job in jobs]
    outs = [whole_path(args.out)] if getattr(args, "out", None) else [root_above(path) or path for path in folders]
    rendered = tuple(out / name for out in outs for name in (CHARTS, OVERLAYS, LEDGER_FOLDER))
    versions: list[Path] = []
    for root in {root for folder in folders if (root := repository_root(folder))} if is_installed() else ():
        names = (word for name in _VERSIONS for word in ("--git-path", name))
        done = Git(root, ("rev-parse", *names)).done()
        versions += (root / os.fsdecode(line) for line in done.stdout.splitlines())
    return _Places(jobs, rendered, tuple(versions), tuple(outs) if watched.reads_repository else ())


@contextmanager
def _watcher(places: _Places) -> Iterator[RustNotify]:
    """Start to watch the repositories around the places.

    Raises:
        TfgenError: the system cannot watch the files, for example because the number of watched folders is limited.
    """
    parents = [job if job.is_dir() else job.parent for job in places.jobs]
    folders = {repository_root(parent) or parent for parent in parents}
    folders |= {path.parent for path in (*places.rendered, *places.versions)}
    existing = {folder for folder in folders if folder.is_dir()}
    roots = [str(path) for path in existing if not any(parent in existing for parent in path.parents)]
    polls = bool(os.environ.get("WATCHFILES_FORCE_POLLING"))  # for file systems without events, as in `watchfiles`
    try:
        watcher = RustNotify(roots, False, polls, _POLL_MS, True, True)
    except (OSError, RuntimeError) as error:
        raise TfgenError(f"--watch cannot follow {', '.join(sorted(roots))}: {error}") from error
    with watcher:
        yield watcher


def _next_changes(watcher: RustNotify, places: _Places, left: dict[Path, _State] | None) -> Set[Path]:
    """Wait for changes, and return the changed paths.

    Args:
        watcher: the watcher.
        places: the places at which a change matters.
        left: the state of each rendered file after the last run; None if the command writes no files. An event for a
            file in this state is about a write of the command itself.
    """
    while True:
        with _signals() as signals:
            found = watcher.watch(_LONGEST_BURST_MS, _STEP_MS, 0, signals)
            names: set[str] = set()
            end = time.monotonic() + _LONGEST_BURST_S
            while not isinstance(found, str):  # text: a signal, or no further change
                names.update(name for _, name in found)
                found = watcher.watch(_LONGEST_BURST_MS, _PAUSE_MS, 1, signals) if time.monotonic() < end else "timeout"
        changed = {path for name in names if places.matters(path := Path(name))}
        if left is not None:
            changed -= {path for path in changed if _is_at(path, places.rendered) and _state(path) == left.get(path)}
        if changed:
            return changed


class _Signals(list[int]):
    """The signals that arrived. watchfiles ends its wait when `is_set` returns True."""

    def is_set(self) -> bool:
        """Return whether a signal arrived."""
        return bool(self)


@contextmanager
def _signals() -> Iterator[_Signals]:
    """Delay SIGINT and SIGTERM to the end of the block, because watchfiles drops the exceptions of their handlers."""
    arrived = _Signals()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, lambda number, _: arrived.append(number))
    try:
        yield arrived
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for arrived_number in arrived:
        signal.raise_signal(arrived_number)


def _states(folders: Iterable[Path]) -> dict[Path, _State]:
    """Return the state of each file and folder at or below the given folders."""
    walked = [(Path(at), files) for folder in folders for at, _, files in os.walk(folder)]
    return {path: _state(path) for at, files in walked for path in (at, *(at / name for name in files))}


def _state(path: Path) -> _State:
    """Return values that change with each write of a file; None for a missing file."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _is_at(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)

"""The files that a word of a command line may become.

complete_file("jobs/m", folders_and_jobs)  ->  ["jobs/mnist/", "jobs/more.yaml"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tfgen.job.sources import has_name_of_job, holds_job

IsWanted = Callable[[Path], bool]


def complete_file(word: str, is_wanted: IsWanted) -> Iterator[str]:
    """The paths that begin as the word does, one folder deep, in order; of a folder with a slash at the end.

    Hidden files come where the word asks for them. A folder that cannot be read has none.
    """
    above, slash, beginning = word.rpartition("/")
    try:
        paths = sorted(Path(f"{above}{slash}" or ".").expanduser().iterdir())
    except (OSError, RuntimeError):  # no such folder; no such user
        return
    for path in paths:
        if path.name.startswith(beginning) and (beginning or not path.name.startswith(".")):
            try:
                if path.is_dir() or is_wanted(path):
                    yield f"{above}{slash}{path.name}{'/' if path.is_dir() else ''}"
            except OSError:
                continue


def is_job(path: Path) -> bool:
    """Whether a file holds a job."""
    return has_name_of_job(path) and path.is_file() and holds_job(path.read_bytes())


def is_folder(path: Path) -> bool:
    """Whether it is one."""
    return path.is_dir()


def is_any(_: Path) -> bool:
    """Every file will do."""
    return True

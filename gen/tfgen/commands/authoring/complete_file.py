"""Shell completion for file names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tfgen.job.sources import contains_job, has_name_of_job

Filter = Callable[[Path], bool]


def complete_file(word: str, is_match: Filter) -> Iterator[str]:
    """Yield the paths that begin with a word, in sorted order. For example, the word `jobs/m` yields `jobs/mnist/`.

    The path of a folder ends with a slash. Hidden files are included only if the file name in the word begins with a
    dot.

    Args:
        word: the incomplete path.
        is_match: function that selects files. Folders are always included.
    """
    parent, slash, beginning = word.rpartition("/")
    try:
        paths = sorted(Path(f"{parent}{slash}" or ".").expanduser().iterdir())
    except (OSError, RuntimeError):  # the folder, or the user of a path ~user, does not exist
        return
    for path in paths:
        if path.name.startswith(beginning) and (beginning or not path.name.startswith(".")):
            try:
                if path.is_dir() or is_match(path):
                    yield f"{parent}{slash}{path.name}{'/' if path.is_dir() else ''}"
            except OSError:
                continue


def is_job(path: Path) -> bool:
    """Test whether a file contains a job."""
    return has_name_of_job(path) and path.is_file() and contains_job(path.read_bytes())


def is_folder(path: Path) -> bool:
    """Test whether a path is a folder."""
    return path.is_dir()


def is_any(_: Path) -> bool:
    """Accept every file."""
    return True

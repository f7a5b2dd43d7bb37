"""Replace a folder of generated files by a new version, completely or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from tfgen.disk_file import errors_at
from tfgen.errors import UsageError


def replace_folder(folder: Path, files: Iterable[tuple[str, str]], file: str, mark: str) -> int:
    """Replace all files in a folder by new files, and return the number of new files.

    Args:
        folder: a new folder, an empty folder, or a folder with an earlier version of the files.
        files: the path below the folder, and the text, of each new file.
        file: the name of a file in the folder by which tfgen recognizes an earlier version.
        mark: a text that this file must contain.

    Raises:
        UsageError: the folder contains files that tfgen did not write, or the path is a file.
        TfgenError: the disk fails. The folder is unchanged.
    """
    folder = folder.resolve()
    with errors_at(folder):
        if folder.exists() and not _may_replace(folder, file, mark):
            raise UsageError(f"{folder}: tfgen did not write this folder; name a new or an empty folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            number = 0
            for path, text in files:
                target = staged / "new" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
                number += 1
            _swap(folder, staged)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    return number


def write_new_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a new folder, completely or not at all.

    Args:
        folder: a folder that does not exist.
        files: the content of each file, by file name.

    Raises:
        UsageError: the folder exists.
        TfgenError: the disk fails. The folder does not exist.
    """
    with errors_at(folder):
        if folder.exists():
            raise UsageError(f"{folder}: the folder exists; name a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            new = staged / "new"
            new.mkdir()
            for name, content in files.items():
                (new / name).write_bytes(content)
            new.rename(folder)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _swap(folder: Path, staged: Path) -> None:
    """Replace the folder by the new version in `staged`. After a failure, move the earlier version back."""
    earlier = staged / "old"
    if folder.exists():
        folder.rename(earlier)
    try:
        (staged / "new").rename(folder)
    except OSError:
        if earlier.exists():
            earlier.rename(folder)
        raise


def _may_replace(folder: Path, file: str, mark: str) -> bool:
    if not folder.is_dir():
        return False
    marked = folder / file
    return not any(folder.iterdir()) or (marked.is_file() and mark in marked.read_text(encoding="utf-8"))

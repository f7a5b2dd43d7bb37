r"""New files, put beside those that are there: what `tfgen init` and `tfgen import` write, and leave to its owner.

add_files(Path("."), [NewFile(".gitignore", "__pycache__/\n", Present.ADD_LINES)])  ->  Added(added=(...,), ...)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

from tfgen.errors import UsageError
from tfgen.record import Record
from tfgen.tree.output_folder import DiskEntry, OutputFolder


class Present(Enum):
    """What becomes of a new file where one of its name is there already."""

    REFUSE = "nothing is written at all"
    KEEP = "it stays as it is"
    ADD_LINES = "the lines that it lacks go to its end"


class NewFile(Record):
    """A file by its path below a folder."""

    path: str
    text: str
    present: Present = Present.REFUSE


class Added(Record):
    """What was written, and what was not.

    Attributes:
        created: the files that are new.
        added: those that have more lines.
        kept: those that were there, with what they hold.
    """

    created: tuple[Path, ...]
    added: tuple[Path, ...]
    kept: Mapping[Path, str]

    def relative(self) -> Added:
        """The files by their paths from the working directory."""
        created, added = (tuple(map(_from_here, paths)) for paths in (self.created, self.added))
        return Added(created, added, {_from_here(path): text for path, text in self.kept.items()})


def _from_here(path: Path) -> Path:
    return Path(os.path.relpath(path))


def add_files(folder: Path, files: Sequence[NewFile]) -> Added:
    """Write files below a folder, all or none.

    Raises:
        UsageError: one that refuses it is there already, or a link or a file is where a folder of theirs is to be.
        TfgenError: the disk fails.
    """
    with OutputFolder(folder, create=True) as output:
        on_disk = output.survey(file.path for file in files)
        _check_places(folder, files, on_disk)
        texts = {file.path: output.read_text(file.path) for file in files if on_disk[file.path].digest is not None}
        contents = {file.path: _content(file, texts.get(file.path)) for file in files}
        changed = {path: text for path, text in contents.items() if text != texts.get(path)}
        with output.unstaged_on_error([[*changed]]):
            output.stage(changed, len(changed))
            output.sync_staged(len(changed))
            output.replace({path: on_disk[path].digest for path in changed})
        output.sync_folders(changed, len(changed))
    return Added(
        created=tuple(folder / path for path in changed if path not in texts),
        added=tuple(folder / path for path in changed if path in texts),
        kept={folder / path: text for path, text in texts.items() if path not in changed},
    )


def _check_places(folder: Path, files: Sequence[NewFile], on_disk: Mapping[str, DiskEntry]) -> None:
    refusing = [file.path for file in files if file.present is Present.REFUSE]
    if there := [str(folder / path) for path in refusing if on_disk[path].digest is not None]:
        raise UsageError(f"{', '.join(there)}: there already, and tfgen writes over nothing of yours")
    if obstacles := sorted({obstacle for entry in on_disk.values() if (obstacle := entry.obstacle)}):
        raise UsageError("\n".join(f"{folder}/{obstacle}" for obstacle in obstacles))


def _content(file: NewFile, text: str | None) -> str:
    """What a file is to hold; `text` is what it holds."""
    if text is None:
        return file.text
    if file.present is not Present.ADD_LINES:
        return text
    present = {" ".join(line.split()) for line in text.splitlines()}
    lines = file.text.splitlines(keepends=True)
    missing = [line for line in lines if " ".join(line.split()) not in present]
    if all(line.startswith("#") for line in missing):
        return text
    end = "\n" if text and not text.endswith("\n") else ""
    return f"{text}{end}{''.join(missing)}"

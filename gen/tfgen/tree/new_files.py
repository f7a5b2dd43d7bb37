"""Create the files of `tfgen init` and `tfgen import`. All text that the user wrote remains in the files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

from tfgen.disk_file import temporary_name
from tfgen.errors import UsageError
from tfgen.record import Record
from tfgen.tree.folder import OutputFolder


class IfPresent(Enum):
    """The action of `add_files` if a file already exists at the path of a new file."""

    REFUSE = "write no file, and raise an error"
    KEEP = "leave the existing file unchanged"
    ADD_LINES = "append the lines that the existing file lacks"


class NewFile(Record):
    """The path and the text of a new file, and the action if the file already exists."""

    path: str
    text: str
    if_present: IfPresent = IfPresent.REFUSE


class Added(Record):
    """The result of `add_files`.

    Attributes:
        created: the created files.
        extended: the existing files to which lines were appended.
        present: the text of each existing file that remains unchanged, by path.
    """

    created: tuple[Path, ...]
    extended: tuple[Path, ...]
    present: Mapping[Path, str]

    def relative(self) -> Added:
        """Return a copy of the result in which all paths are relative to the working directory."""
        created, extended = (tuple(map(_relative, paths)) for paths in (self.created, self.extended))
        return Added(created, extended, {_relative(path): text for path, text in self.present.items()})


def _relative(path: Path) -> Path:
    return Path(os.path.relpath(path))


def add_files(folder: Path, files: Sequence[NewFile]) -> Added:
    """Write new files below a folder. If one file cannot be written, no file is written.

    Raises:
        UsageError: a file with the action REFUSE exists, or a parent folder of a new file is a link or a file.
        TfgenError: the disk fails.
    """
    with OutputFolder(folder, create=True) as output:
        on_disk = output.states(file.path for file in files)
        refusing = [file.path for file in files if file.if_present is IfPresent.REFUSE]
        if existing := [str(folder / path) for path in refusing if on_disk[path].digest is not None]:
            raise UsageError(
                f"{', '.join(existing)} exists already, and tfgen does not replace files that it did not render"
            )
        if obstacles := sorted({obstacle for entry in on_disk.values() if (obstacle := entry.obstacle)}):
            raise UsageError("\n".join(f"{folder}/{obstacle}" for obstacle in obstacles))
        texts = {file.path: output.read_text(file.path) for file in files if on_disk[file.path].digest is not None}
        contents = {file.path: _content(file, texts.get(file.path)) for file in files}
        changed = {path: text for path, text in contents.items() if text != texts.get(path)}
        staged = temporary_name()
        digests = {path: on_disk[path].digest for path in changed}
        try:
            output.write({f"{staged}/{path}": text for path, text in changed.items()})
            output.sync_files([f"{staged}/{path}" for path in changed], len(changed))
            output.replace(staged, digests, output.prepare(digests))
        except BaseException:
            output.prune(changed)
            raise
        finally:
            output.discard([staged])
        output.sync_folders(changed, len(changed))
    return Added(
        created=tuple(folder / path for path in changed if path not in texts),
        extended=tuple(folder / path for path in changed if path in texts),
        present={folder / path: text for path, text in texts.items() if path not in changed},
    )


def _content(file: NewFile, text: str | None) -> str:
    """Return the text to write for a new file. `text` is the text of the existing file; None if no file exists."""
    if text is None:
        return file.text
    if file.if_present is not IfPresent.ADD_LINES:
        return text
    present = {" ".join(line.split()) for line in text.splitlines()}
    lines = file.text.splitlines(keepends=True)
    missing = [line for line in lines if " ".join(line.split()) not in present]
    if all(line.startswith("#") for line in missing):
        return text
    end = "\n" if text and not text.endswith("\n") else ""
    return f"{text}{end}{''.join(missing)}"

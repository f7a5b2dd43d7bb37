"""The files that are open in an editor. tfgen reads the unsaved text of an open file instead of the text on disk.

files = OpenFiles()
files.update("tfgen.yaml", "apiVersion: ...")
files.source("jobs/mnist/job.yaml")  # Source("jobs/mnist/job.yaml", "...", Source("tfgen.yaml", "..."))
"""

from __future__ import annotations

from pathlib import Path

from tfgen.disk_file import real_path
from tfgen.job.defaults import FILE
from tfgen.job.sources import Source, contains_job, defaults_under, read_defaults_file

JOB_FILE = "job.yaml"
"""The name of a job file. tfgen checks an empty file with this name as a job."""


class OpenFiles:
    """The texts of the open files, by the path of each file."""

    def __init__(self) -> None:
        self._texts: dict[Path, str] = {}

    def update(self, file: str, text: str) -> None:
        """Set the text of an open file."""
        self._texts[real_path(Path(file))] = text

    def remove(self, file: str) -> None:
        """Remove a closed file. tfgen then reads the text on disk again."""
        self._texts.pop(real_path(Path(file)), None)

    def text(self, file: str) -> str:
        """Return the text of an open file; empty for any other file."""
        return self._texts.get(real_path(Path(file)), "")

    def source(self, file: str) -> Source:
        """Return the unsaved text of an open file as a `Source`. `Source.defaults` is the nearest tfgen.yaml.

        The text of a tfgen.yaml comes from the editor, or from the disk if the editor has not opened the tfgen.yaml.

        Raises:
            UsageError: a tfgen.yaml on disk cannot be read.
        """
        under = defaults_under(Path(file), self._defaults)
        if is_defaults(file) and under is not None:
            return under
        return Source(file, self.text(file), under)

    def _defaults(self, path: Path) -> bytes | None:
        text = self._texts.get(real_path(path))
        return read_defaults_file(path) if text is None else _encode(text)


def is_defaults(file: str) -> bool:
    """Test whether a file is a tfgen.yaml."""
    return Path(file).name == FILE


def is_checked(file: str, text: str) -> bool:
    """Test whether tfgen checks a file: a tfgen.yaml or a job. Editors also open YAML files of other programs."""
    return is_defaults(file) or Path(file).name == JOB_FILE or contains_job(_encode(text))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

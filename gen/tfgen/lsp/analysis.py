"""The open files of an editor, and the problems of the Kubernetes objects of a file."""

from __future__ import annotations

from pathlib import Path

from tfgen.check.fixes import Analysis, is_defaults
from tfgen.disk_file import real_path
from tfgen.errors import has_errors, in_order
from tfgen.graph.graph import build
from tfgen.job.sources import Source, contains_job, defaults_under, read_defaults_file
from tfgen.pipeline.objects import find_object_problems

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


def is_checked(file: str, text: str) -> bool:
    """Test whether tfgen checks a file: a tfgen.yaml or a job. Editors also open YAML files of other programs."""
    return is_defaults(file) or Path(file).name == JOB_FILE or contains_job(_encode(text))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def check_built_objects(analysis: Analysis) -> Analysis:
    """Return the analysis with the problems of the Kubernetes objects, for a file whose jobs have no errors."""
    has_jobs = not is_defaults(analysis.source.file) and len(analysis.accepted) == len(analysis.documents)
    if not has_jobs or has_errors(analysis.problems):
        return analysis
    jobs = [(document, build(document.data)) for document in analysis.accepted]
    return analysis.replaced(of_objects=in_order(find_object_problems(jobs)))

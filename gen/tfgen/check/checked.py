"""Results of `tfgen check`, for one job file and for several job files that were checked together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tfgen.check.across import JobRecord
from tfgen.errors import Problem, has_errors
from tfgen.job.sources import Source
from tfgen.record import Record
from tfgen.text.document import Document


class Reported(Record):
    """Problems with the severities that the tfgen.yaml files set.

    Attributes:
        ignored: the warnings that comments ignore. `problems` does not contain these warnings.
    """

    problems: tuple[Problem, ...] = ()
    ignored: tuple[Problem, ...] = ()


def merged_reports(reports: Iterable[Reported]) -> Reported:
    """Return the problems of several reports as one report."""
    reports = [*reports]
    return Reported(
        tuple(problem for report in reports for problem in report.problems),
        tuple(problem for report in reports for problem in report.ignored),
    )


class CheckResult(Record):
    """The result of the check of one file, without the documents. Many documents would need too much memory.

    Attributes:
        reported: the problems that do not involve other files.
        records: for each job that the schema accepts, the data that tfgen compares with other jobs.
        names: the names of all jobs in the file, with and without errors.
    """

    reported: Reported
    records: tuple[JobRecord, ...]
    names: tuple[str, ...]


class ReadFile(Record):
    """A job file with its documents.

    Attributes:
        accepted: the documents that the schema accepts and whose layers have no errors.
    """

    source: Source
    documents: tuple[Document, ...]
    accepted: tuple[Document, ...]
    result: CheckResult

    @property
    def is_valid(self) -> bool:
        """Return True if the file and all its layers have no errors."""
        return not has_errors(self.result.reported.problems) and len(self.accepted) == len(self.documents)


class CheckedFile(Record):
    """A job file after its check.

    Attributes:
        clashes: True if a job of the file conflicts with another job of the checked files.
        is_cached: True if the result comes from the cache.
    """

    source: Source
    result: CheckResult
    clashes: bool = False
    is_cached: bool = False


class Checked(Record):
    """Files that were checked together.

    Attributes:
        files: the checked files, in the order in which the caller passed the files.
        problems: all problems, sorted by file and line.
        ignored: the warnings that comments ignore.
    """

    files: tuple[CheckedFile, ...]
    problems: tuple[Problem, ...]
    ignored: tuple[Problem, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The source of each checked file."""
        return tuple(file.source for file in self.files)

    @property
    def valid_files(self) -> tuple[CheckedFile, ...]:
        """The files without errors in the file or in a layer of the file."""
        broken = {problem.file for problem in self.problems if problem.severity == "error"}
        return tuple(
            file
            for file in self.files
            if file.source.file not in broken and not any(layer.file in broken for layer in file.source.layers())
        )


class CheckedJobs(Checked):
    """Files that were checked together, with their documents.

    Attributes:
        read: the files whose result does not come from the cache, by the name of the file.
    """

    read: Mapping[str, ReadFile]

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents of the files that were read."""
        return tuple(document for file in self.read.values() for document in file.documents)

    @property
    def valid_jobs(self) -> tuple[Document, ...]:
        """The jobs in all files that were read and have no errors. A file from the cache was not read."""
        names = [file.source.file for file in self.valid_files]
        return tuple(document for name in names if name in self.read for document in self.read[name].documents)

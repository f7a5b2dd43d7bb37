"""What a check of jobs gives: the files, their documents, and what is wrong with them."""

from __future__ import annotations

from tfgen.check.across import JobRecord
from tfgen.job.sources import Source
from tfgen.problems import Problem, has_errors
from tfgen.record import Record
from tfgen.text.document import Document


class Weighed(Record):
    """Problems with the weight that the platform gives them, and the warnings that a comment ignores."""

    problems: tuple[Problem, ...] = ()
    ignored: tuple[Problem, ...] = ()


class CheckedFile(Record):
    """The documents of one file, and what is wrong with it by itself.

    Attributes:
        documents: none where it was known, even if it was read again for a clash.
        accepted: the documents that the schema accepts, over defaults that have no errors.
        records: what those are judged by beside the jobs of all files.
        names: what its documents call their jobs, right or wrong.
        clashes: whether one of them has something wrong beside those.
        is_known: whether the file was not read, since its records are known.
    """

    source: Source
    documents: tuple[Document, ...]
    accepted: tuple[Document, ...]
    weighed: Weighed
    records: tuple[JobRecord, ...]
    names: tuple[str, ...] = ()
    clashes: bool = False
    is_known: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether neither it by itself nor the defaults under it have errors. It takes the documents to say so."""
        return not has_errors(self.weighed.problems) and len(self.accepted) == len(self.documents)


class Checked(Record):
    """The files, in their order, and all that is wrong with them, in order.

    Attributes:
        ignored: the warnings that comments ignore.
    """

    files: tuple[CheckedFile, ...]
    problems: tuple[Problem, ...]
    ignored: tuple[Problem, ...] = ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """What the files hold."""
        return tuple(file.source for file in self.files)

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents of all files that have them here."""
        return tuple(document for file in self.files for document in file.documents)

    @property
    def whole_files(self) -> tuple[CheckedFile, ...]:
        """The files without errors, whose defaults have none either."""
        broken = {problem.file for problem in self.problems if problem.severity == "error"}
        return tuple(
            file
            for file in self.files
            if file.source.file not in broken and not any(layer.file in broken for layer in file.source.layers())
        )

    @property
    def whole(self) -> tuple[Document, ...]:
        """The documents of those: the jobs."""
        return tuple(document for file in self.whole_files for document in file.documents)

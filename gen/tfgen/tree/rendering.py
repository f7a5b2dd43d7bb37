"""The files of one rendered job."""

from __future__ import annotations

from functools import cached_property

from tfgen.record import Record
from tfgen.tree.file_tree import FileTree
from tfgen.tree.ledger import Ledger
from tfgen.tree.spool import Spool


class Revision(Record):
    """A rendered file that contains a revision number, such as ``Chart.yaml``.

    The number rises by one whenever `digest` changes.

    Attributes:
        path: the path of the file.
        digest: a digest of the rendered content without the number, such as all files of a chart. A new digest causes a
            new number.
        head: the text of the file before the number.
        tail: the text of the file after the number.
    """

    path: str
    digest: str
    head: str
    tail: str

    def text(self, number: int) -> str:
        """Return the text of the file with the revision number `number`."""
        return f"{self.head}{number}{self.tail}"

    def number(self, before: Ledger | None) -> int:
        """Return the revision number of the new file: the number in `before`, plus one if `digest` has changed.

        `before` is the ledger of the earlier render. Without this ledger, or without a revision in it, return 0.
        """
        if before is None or not before.revised_digest:
            return 0
        return before.revision + (before.revised_digest != self.digest)


class Rendering(Record):
    """The files of one rendered job. A write of an empty tree removes the files and the ledger of the job.

    Attributes:
        shared: the paths that several jobs may have. tfgen removes a shared file when no job has the file any longer.
        source: the path of the job file from the root of the repository.
        revision: the file that contains a revision number; None if no file of the job contains a revision number.
        number: the revision number in the tree; 0 until `with_revision_number` sets the number.
        earlier_revised_digest: the field `revised_digest` of the ledger of the earlier render. If `revision` is None,
            the new ledger contains the same digest. Empty until `with_revision_number` sets the digest.
    """

    job: str
    tree: FileTree
    input_digest: str
    defaults_digest: str = ""
    shared: frozenset[str] = frozenset()
    source: str = ""
    revision: Revision | None = None
    number: int = 0
    earlier_revised_digest: str = ""

    def with_revision_number(self, before: Ledger | None) -> Rendering:
        """Return a copy of the rendering with the correct revision number, which depends on the earlier render.

        If `revision` is None, the copy only stores the number and the `revised_digest` of the earlier ledger.

        Args:
            before: the ledger of the earlier render; None for the first render.
        """
        if self.revision is None:
            if before is None:
                return self
            return self.replaced(number=before.revision, earlier_revised_digest=before.revised_digest)
        number = self.revision.number(before)
        if number == self.number:
            return self
        tree = self.tree.with_text(self.revision.path, self.revision.text(number))
        return self.replaced(tree=tree, number=number)

    @cached_property
    def folded_paths(self) -> frozenset[str]:
        """The paths of the rendered files in lower case."""
        return frozenset(path.casefold() for path in self.tree.files)

    def ledger(self, tool_version: str) -> Ledger:
        """Return the ledger that the job has after a complete write of the rendering."""
        revised = self.revision.digest if self.revision else self.earlier_revised_digest
        return Ledger(
            tool_version,
            self.input_digest,
            self.tree.digests,
            None,
            self.defaults_digest,
            self.source,
            self.number,
            revised,
        )

    def spooled(self, spool: Spool) -> Rendering:
        """Return a copy of the rendering whose texts are in a temporary file on disk instead of in memory."""
        return self.replaced(tree=self.tree.spooled(spool))

"""The files of one rendered job."""

from __future__ import annotations

from functools import cached_property

from tfgen.record import Record
from tfgen.tree.file_tree import FileTree
from tfgen.tree.ledger import Ledger
from tfgen.tree.spool import Spool


class Revision(Record):
    """A number in one file of a job, which rises by one where a digest changes.

    Attributes:
        path: the file's.
        digest: of all that another number is for.
        head: the file's text before the number.
        tail: its text behind it.
    """

    path: str
    digest: str
    head: str
    tail: str

    def text(self, number: int) -> str:
        """The file's text with a number."""
        return f"{self.head}{number}{self.tail}"

    def number(self, before: Ledger | None) -> int:
        """The number of a job that has this ledger: 0 where it has none."""
        if before is None or not before.revised_digest:
            return 0
        return before.revision + (before.revised_digest != self.digest)


class Rendering(Record):
    """The files of one rendered job. An empty tree removes the job's files and its ledger.

    Attributes:
        shared: paths of the tree that other jobs may have too; such a file goes with the last of them.
        source: the job's file, from the root of its repository.
        revision: what of the tree depends on the ledger too; it has the number 0 until `following`.
        number: the number that the tree has.
        counted: the digest that the number was last for, where the tree has nothing that is counted.
    """

    job: str
    tree: FileTree
    input_digest: str
    defaults_digest: str = ""
    shared: frozenset[str] = frozenset()
    source: str = ""
    revision: Revision | None = None
    number: int = 0
    counted: str = ""

    def following(self, before: Ledger | None) -> Rendering:
        """The same as what comes after a ledger. What is not in this tree is counted on when it comes back."""
        if self.revision is None:
            return self.replaced(number=before.revision, counted=before.revised_digest) if before else self
        number = self.revision.number(before)
        if number == self.number:
            return self
        tree = self.tree.with_text(self.revision.path, self.revision.text(number))
        return self.replaced(tree=tree, number=number)

    @cached_property
    def folded_paths(self) -> frozenset[str]:
        """The paths of the tree, case folded."""
        return frozenset(path.casefold() for path in self.tree.files)

    def ledger(self, tool_version: str) -> Ledger:
        """The job's ledger once all is written."""
        revised = self.revision.digest if self.revision else self.counted
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
        """The same with its texts in a spool."""
        return self.replaced(tree=self.tree.spooled(spool))

"""The files of one rendered job."""

from __future__ import annotations

from functools import cached_property

from tfgen.record import Record
from tfgen.tree.file_tree import FileTree, digest_of
from tfgen.tree.ledger import Ledger


class Rendering(Record):
    """The files of one rendered job. An empty tree removes the job's files and its ledger.

    Attributes:
        shared: paths of the tree that other jobs may have too; such a file goes with the last of them.
        source: the job's file, from the root of its repository.
    """

    job: str
    tree: FileTree
    input_digest: str
    defaults_digest: str = ""
    shared: frozenset[str] = frozenset()
    source: str = ""

    @cached_property
    def folded_paths(self) -> frozenset[str]:
        """The paths of the tree, case folded."""
        return frozenset(path.casefold() for path in self.tree.files)

    def ledger(self, tool_version: str) -> Ledger:
        """The job's ledger once all is written."""
        digests = {path: digest_of(text) for path, text in self.tree.files.items()}
        return Ledger(tool_version, self.input_digest, digests, None, self.defaults_digest, self.source)

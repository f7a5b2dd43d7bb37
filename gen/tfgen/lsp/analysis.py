"""Check one open file, with the steps of `tfgen check` that need no other job file and no rendered file.

analyse(Source("job.yaml", "..."))  # Analysis(problems=(Problem("job.yaml", ...), ...), ...)
"""

from __future__ import annotations

from tfgen.check.checked import CheckedFile
from tfgen.check.jobs import Checker
from tfgen.check.source import read_layer
from tfgen.commands.pipeline.object_problems import find_object_problems
from tfgen.errors import Position, Problem, has_errors, in_order
from tfgen.graph.built import build
from tfgen.job.sources import Source, parse_source
from tfgen.lsp.open_files import is_defaults
from tfgen.record import Record
from tfgen.text.document import Document


class Analysis(Record):
    """The documents of a file, and the problems of the file.

    Attributes:
        documents: the documents with the defaults from each tfgen.yaml, including documents with errors.
        accepted: the documents without schema errors; empty if a tfgen.yaml that applies to the file has schema errors.
        problems: the problems of the file and of each tfgen.yaml that applies to the file.
        is_parsed: whether the file is valid YAML.
        of_objects: the problems of the jobs' Kubernetes objects; empty before a call of `check_built_objects`.
    """

    source: Source
    documents: tuple[Document, ...]
    accepted: tuple[Document, ...]
    problems: tuple[Problem, ...]
    is_parsed: bool
    of_objects: tuple[Problem, ...] = ()

    def accepted_at(self, root: Position) -> Document | None:
        """Return the document without schema errors that begins at the position `root`; None without such a document.

        A document whose tfgen.yaml has schema errors does not count.
        """
        return next((document for document in self.accepted if document.root.position == root), None)

    def document_above(self, line: int) -> Document | None:
        """Return the document that contains a line, even a document with errors; None above the first document."""
        return next((document for document in reversed(self.documents) if document.root.position.line <= line), None)


def analyse(source: Source) -> Analysis:
    """Check a job file or a tfgen.yaml."""
    parsed = parse_source(source)
    if is_defaults(source.file):
        layer = read_layer(source, {}, is_guarded=True)
        accepted = (layer.defaults,) if layer.defaults else ()
        return Analysis(source, accepted or parsed.documents[:1], accepted, layer.problems, not parsed.problems)
    checker = Checker()
    file = checker.check(source)
    problems = checker.check_together([CheckedFile(source, file.result)], {source.file: file}).problems
    return Analysis(source, file.documents, file.accepted, problems, not parsed.problems)


def check_built_objects(analysis: Analysis) -> Analysis:
    """Return the analysis with the problems of the Kubernetes objects, for a file whose jobs have no errors."""
    has_jobs = not is_defaults(analysis.source.file) and len(analysis.accepted) == len(analysis.documents)
    if not has_jobs or has_errors(analysis.problems):
        return analysis
    jobs = [(document, build(document.data)) for document in analysis.accepted]
    return analysis.replaced(of_objects=in_order(find_object_problems(jobs)))

"""Jobs as they are, against what git has of them.

    compare(checked, "HEAD")  ->  Comparison(problems=(Problem(... "new-run"),), jobs=1, notes=())

A job is compared with the one of the same name in the committed version of its own file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tfgen import git
from tfgen.check import Checked, check
from tfgen.document import Document
from tfgen.new_run import new_runs
from tfgen.problems import Problem, has_errors, in_order


@dataclass(frozen=True)
class Comparison:
    """What came of it.

    Attributes:
        problems: in order.
        jobs: how many had something to be compared with.
        notes: why others had not, where that is no matter of course.
    """

    problems: tuple[Problem, ...]
    jobs: int
    notes: tuple[str, ...]


def compare(checked: Checked, revision: str) -> Comparison:
    """Compare each job of the files that have no errors.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git fails.
    """
    broken = {problem.file for problem in checked.problems if problem.severity == "error"}
    notes = [] if git.is_installed() else ["there is no git on the PATH, so nothing is compared with what is committed"]
    pairs: list[tuple[Document, Document]] = []
    for file, documents in groupby(checked.documents, lambda document: document.file):
        content = None if file in broken else git.committed(Path(file), revision)
        if content is None:
            continue
        earlier = check(content, file)
        if has_errors(earlier.problems):
            notes.append(f"{file} has errors in {revision}, so it is not compared with that")
        else:
            pairs += _by_name(earlier.documents, documents)
    problems = in_order(problem for before, after in pairs for problem in new_runs(before, after))
    return Comparison(problems, len(pairs), tuple(notes))


def _by_name(before: tuple[Document, ...], after: Iterator[Document]) -> Iterator[tuple[Document, Document]]:
    known = {_name(document): document for document in before}
    return ((known[_name(document)], document) for document in after if _name(document) in known)


def _name(document: Document) -> str:
    name: str = document.data["metadata"]["name"]
    return name

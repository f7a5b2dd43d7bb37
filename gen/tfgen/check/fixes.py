"""Check of the text of one file, and the edits that fix the problems of the text.

An edit counts only if a check of the edited text no longer finds the problem, and finds no new error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Final, NamedTuple

from tfgen import data_path
from tfgen.check.checked import CheckedFile
from tfgen.check.jobs import Checker
from tfgen.check.source import read_layer
from tfgen.errors import Position, Problem, TfgenError
from tfgen.fix import REMOVED, Assignment, DataEdit, Fix, Replacement
from tfgen.job.sources import FILE, Source, parse_source
from tfgen.record import Record
from tfgen.schema.messages import RULES as SCHEMA_RULES
from tfgen.text.document import Document, YamlNode
from tfgen.text.edit import assign


class Analysis(Record):
    """The documents of a file, and the problems of the file.

    Attributes:
        documents: the documents with the defaults from each tfgen.yaml, including documents with errors.
        accepted: the documents without schema errors; empty if a tfgen.yaml that applies to the file has schema errors.
        problems: the problems of the file and of each tfgen.yaml that applies to the file.
        is_parsed: whether the file is valid YAML.
        of_objects: the problems of the jobs' Kubernetes objects; empty for an analysis by `analyse`.
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


def is_defaults(file: str) -> bool:
    """Test whether a file is a tfgen.yaml."""
    return FilePath(file).name == FILE


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


class FixedText(NamedTuple):
    """The text of a file after a fix, and the fixed problem."""

    problem: Problem
    fix: Fix
    text: str


def fix_each(source: Source) -> Iterator[FixedText]:
    """Yield the text of a file after each fix. Each fix edits the text of the fix before it.

    The function leaves a problem whose message proposes a choice, and a problem that no edit solves alone. A second
    call with the last text yields nothing.
    """
    analysis = analyse(source)
    seen = {analysis.source.text()}
    failed: set[tuple[str, str]] = set()
    is_changed = False
    while True:
        fixed = _fix_first(analysis, failed)
        if fixed is not None and fixed.text not in seen:
            yield fixed
            seen.add(fixed.text)
            analysis = analyse(source.replaced(content=fixed.text))
            is_changed = True
        elif is_changed:
            failed.clear()  # the fix of another problem may have made an edit possible
            is_changed = False
        else:
            return


def _fix_first(analysis: Analysis, failed: set[tuple[str, str]]) -> FixedText | None:
    """Return the first fix of a problem that is not in `failed`. Add the problems that no edit solves to `failed`."""
    for problem in analysis.problems:
        mistake = (problem.rule, problem.message)
        if len(problem.fixes) == 1 and not problem.fixes[0].is_choice and mistake not in failed:
            for fixed in fixed_texts(analysis, problem):
                return fixed
            failed.add(mistake)
    return None


def fixed_texts(analysis: Analysis, problem: Problem) -> Iterator[FixedText]:
    """Yield the text of the analysed file after each fix that solves a problem of the file."""
    text = analysis.source.text()
    if isinstance(text, Problem) or problem.file != analysis.source.file:
        return
    for fix in problem.fixes:
        edited_texts = dict.fromkeys(_edited(analysis, text, problem.position, fix))
        solved = next((edited for edited in edited_texts if _solves(analysis, problem, edited)), None)
        if solved is not None:
            yield FixedText(problem, fix, solved)


def _edited(analysis: Analysis, text: str, position: Position, fix: Fix) -> Iterator[str]:
    """Yield the texts that may result from a fix: the edits as they are, then with a larger removal."""
    document = analysis.document_above(position.line)
    replacements = [edit for edit in fix.edits if isinstance(edit, Replacement)]
    if replacements:
        for replacement in replacements:
            text = _replaced(text, position, document, replacement)
        yield text
    elif document is not None:
        data_edits = [edit for edit in fix.edits if not isinstance(edit, Replacement)]
        for edits in _with_larger_removals(document, data_edits):
            try:
                yield assign(text, document, edits)
            except (TfgenError, LookupError):
                continue


def _replaced(text: str, position: Position, document: Document | None, replacement: Replacement) -> str:
    lines = re.split(r"(?<=\n)", text)
    begin = sum(map(len, lines[: position.line - 1]))
    start, end = begin + position.column - 1, begin + len(lines[position.line - 1])
    if replacement.where == "line":
        start = begin
    elif replacement.where == "scalar":
        node = _scalar_at(document.alone().root, position) if document else None
        if node is None:
            return text
        start, end = node.start, node.end
    return text[:start] + re.sub(replacement.pattern, lambda _: replacement.new, text[start:end]) + text[end:]


def _scalar_at(tree: YamlNode, position: Position) -> YamlNode | None:
    if tree.position == position and tree.form == "scalar":
        return tree
    found = (_scalar_at(entry.value, position) for entry in tree.entries)
    return next((node for node in found if node is not None), None)


def _with_larger_removals(document: Document, edits: list[DataEdit]) -> Iterator[list[DataEdit]]:
    """Yield edits, then edits that also remove the parents of a removed key which contain only this key."""
    yield edits
    data = document.alone().data
    for number, edit in enumerate(edits):
        if not isinstance(edit, Assignment) or edit.value is not REMOVED:
            continue
        for end in range(len(edit.path) - 1, 1, -1):
            parent: object = ()
            with suppress(LookupError, TypeError):
                parent = data_path.follow(data, edit.path[:end])
            if isinstance(parent, list | Mapping) and len(parent) > 1:
                break
            yield [*edits[:number], Assignment(edit.path[:end], REMOVED), *edits[number + 1 :]]


def _solves(analysis: Analysis, problem: Problem, edited: str) -> bool:
    """Test whether an edited text no longer has the problem and has no new errors.

    After the fix of a schema error, or of a rule in `_HIDING`, new errors of other rules are allowed, because these
    rules check only text that the schema and the rule accept.
    """
    checked = analyse(analysis.source.replaced(content=edited))
    before, after = ([(item.rule, item.message) for item in form.problems] for form in (analysis, checked))
    if after.count((problem.rule, problem.message)) >= before.count((problem.rule, problem.message)):
        return False
    growth = Counter(item.rule for item in checked.problems if item.severity == "error")
    growth.subtract(item.rule for item in analysis.problems if item.severity == "error")
    is_of_form = _is_of_form(problem.rule)
    if is_of_form and growth[problem.rule] >= 0:
        return False  # the same mistake in other words
    shows_more = is_of_form or problem.rule in _HIDING
    return not any(number > 0 and (_is_of_form(rule) or not shows_more) for rule, number in growth.items())


_HIDING: Final = frozenset(("affinity", "misspelt-field", "patch-target", "unknown-field", "wrong-shape"))
"""The rules whose problems keep other rules from checking the same text."""


def _is_of_form(rule: str) -> bool:
    """Test whether a rule id belongs to an error of the YAML reader or of the schema."""
    return rule in SCHEMA_RULES or rule.startswith("yaml-") or rule == "duplicate-key"

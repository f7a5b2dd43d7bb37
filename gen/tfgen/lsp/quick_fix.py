"""Compute quick fixes: apply the fixes in the message of a problem to the text of the file.

    quick_fixes(analysis, problem)  # [QuickFix('Change to "replicas"', "apiVersion: ...")]

An edit is a quick fix if a check of the edited text no longer reports the problem and reports no new error.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Position, Problem, TfgenError, UsageError
from tfgen.lsp.analysis import Analysis, analyse
from tfgen.lsp.phrases import ProposedFix, proposed_fixes
from tfgen.report.excerpts import token_at
from tfgen.schema.file import read_path
from tfgen.schema.messages import RULES as SCHEMA_RULES
from tfgen.text.document import Document, YamlNode
from tfgen.text.edit import REMOVED, Assignment, assign
from tfgen.text.parse import parse
from tfgen.text.yaml_text import find_odd_space
from tfgen.words import nearest, path_name, shown

_MOST: Final = 30
"""Maximum number of edits that tfgen tries for one proposed fix."""

_ENTRY: Final = re.compile(r'(?P<key>[\w.\-/]+(?:\["[^"]*"\])?): (?P<value>.+)')
_SETTING: Final = re.compile(r"(?P<key>[\w.\-]+) to (?P<value>.+)")
_MOVE: Final = re.compile(r"(?P<key>[\w.]+) of the job")
_THIS: Final = ("it", "this", "this entry", "the key", "the variable")
_OUTPUTS: Final[Path] = ("spec", "outputs")
_REFERENCE: Final = re.compile(r"\$\((?P<name>\w+)\)")
_CURLY: Final = re.compile("[\u2018\u2019\u201c\u201d]")
_WORD: Final = re.compile(r"[\w./-]+")


class QuickFix(NamedTuple):
    """A quick fix: the title that the editor shows, and the text of the file after the edit."""

    title: str
    text: str


def quick_fixes(analysis: Analysis, problem: Problem) -> list[QuickFix]:
    """Return edits that fix a problem in the analysed file. The message of a problem may propose several fixes.

    For each proposed fix, the function tries several edits, and returns only the first edit that solves the problem.
    """
    text = analysis.source.text()
    if isinstance(text, Problem) or problem.file != analysis.source.file:
        return []
    fixes = []
    for fix in proposed_fixes(problem.message):
        edits = dict.fromkeys(edited for edited in _edits(analysis, text, problem, fix) if edited != text)
        fixed = next(
            (edited for edited in islice(edits, _MOST) if _solves_problem(analysis, problem, fix, edited)), None
        )
        if fixed is not None:
            fixes.append(QuickFix(_title(fix), fixed))
    return fixes


def _title(fix: ProposedFix) -> str:
    if fix.verb == "mean":
        return f"Change to {shown(fix.words)}"
    return f"{fix.verb.capitalize()} {fix.words}"


def _solves_problem(analysis: Analysis, problem: Problem, fix: ProposedFix, edited: str) -> bool:
    """Test whether an edited text no longer has the problem and has no new errors.

    After the fix of a misspelled name or of a schema error, new errors of other rules are allowed, because these rules
    check only text that the schema accepts.
    """
    checked = analyse(analysis.source.replaced(content=edited))
    before, after = ([(item.rule, item.message) for item in form.problems] for form in (analysis, checked))
    if after.count((problem.rule, problem.message)) >= before.count((problem.rule, problem.message)):
        return False
    is_yaml_or_schema_rule = _is_yaml_or_schema_rule(problem.rule)
    growth = Counter(_errors(checked))
    growth.subtract(_errors(analysis))
    if is_yaml_or_schema_rule and growth[problem.rule] >= 0:
        return False  # the same mistake in other words
    shows_more = fix.verb == "mean" or is_yaml_or_schema_rule or problem.rule == "wrong-shape"
    return not any(number > 0 and (_is_yaml_or_schema_rule(rule) or not shows_more) for rule, number in growth.items())


def _errors(analysis: Analysis) -> list[str]:
    return [problem.rule for problem in analysis.problems if problem.severity == "error"]


def _is_yaml_or_schema_rule(rule: str) -> bool:
    """Test whether a rule id belongs to an error of the YAML reader or of the schema."""
    return rule in SCHEMA_RULES or rule.startswith("yaml-") or rule == "duplicate-key"


def _edits(analysis: Analysis, text: str, problem: Problem, fix: ProposedFix) -> Iterator[str]:
    """Yield edited texts of the file that may solve the problem, the most probable text first."""
    yield from _edits_of_line(text, problem.position, fix)
    document = analysis.document_above(problem.position.line)
    if document is None or not analysis.is_parsed:
        return
    for path in _paths_at(document, problem):
        if fix.verb == "mean":
            yield from _edits_of_line(text, document.alone().key(path), fix)
        for assignments in _assignments(document, path, problem, fix):
            if not all(assignment.path for assignment in assignments):
                continue
            try:
                yield assign(text, document, assignments)
            except (TfgenError, LookupError):
                continue


def _paths_at(document: Document, problem: Problem) -> list[Path]:
    """Return the path of each key and value that begins at the position of a problem.

    For example, a mapping and the first key of the mapping begin at the same position. If the message begins with a
    path, this path is first in the result.
    """
    paths = _positions(document.root, (), problem.position)
    return sorted(paths, key=lambda path: (not problem.message.startswith(f"{path_name(path)}:"), -len(path)))


def _positions(tree: YamlNode, path: Path, position: Position) -> Iterator[Path]:
    if tree.position == position:
        yield path
    for step, entry in tree.children.items():
        if entry.position == position and entry.value.position != position:
            yield (*path, step)
        yield from _positions(entry.value, (*path, step), position)


def _edits_of_line(text: str, position: Position, fix: ProposedFix) -> Iterator[str]:
    """Yield edited texts of the file. Each text applies a proposed fix to the line at `position` only."""
    lines = text.split("\n")
    if position.line > len(lines):
        return
    line = lines[position.line - 1]
    token = token_at(line, position.column)
    before = line[: position.column - 1]
    tail = line[len(before) + len(token) :]
    for changed in _changed_lines(before, token, tail, fix):
        yield "\n".join((*lines[: position.line - 1], *changed, *lines[position.line :]))


def _changed_lines(before: str, token: str, tail: str, fix: ProposedFix) -> Iterator[tuple[str, ...]]:
    """Yield the possible results of a proposed fix for one line, as tuples of lines.

    `token` is the word at the position of the problem, `before` is the text before this word, and `tail` is the text
    after this word. A tuple contains the changed line, or is empty if the fix removes the line.
    """
    match fix:
        case ProposedFix("mean", name):
            words = [word for word in _WORD.findall(token) if word != name]
            if word := nearest(name, words):
                yield (f"{before}{token.replace(word, name, 1)}{tail}",)
            quote = token[0] if token[:1] in ("'", '"') else ""
            yield (f"{before}{quote}{name}{quote}{tail}",)
            if word := nearest(name, _WORD.findall(tail)):
                yield (f"{before}{token}{tail.replace(word, name, 1)}",)
        case ProposedFix("quote", words):
            quoted = words.removeprefix("it: ")
            yield (f"{before}{(token + tail).replace(json.loads(quoted), quoted, 1)}",)
        case ProposedFix("remove", "this line"):
            yield ()
        case ProposedFix("remove", "the comment"):
            yield (before.rstrip(),) if before.strip() else ()
        case ProposedFix("remove", "it") if not (token or tail)[:1].isprintable():
            yield (f"{before}{(token + tail)[1:]}",)
        case ProposedFix("write", "a blank"):
            for blank in (" ", ""):
                yield (_without(f"{before}{token}{tail}", find_odd_space, blank),)
        case ProposedFix("write", reference) if variable := _REFERENCE.fullmatch(reference):
            written = re.compile(rf"\${{{variable['name']}}}|\${variable['name']}\b")
            yield (f"{before}{written.sub(reference, token + tail, count=1)}",)
        case ProposedFix("write", '"' | "'" as quote):
            yield (f"{before}{_without(token + tail, _CURLY.match, quote)}",)
        case ProposedFix("use", "blanks"):
            yield (f"{before}{token}{tail}".replace("\t", "  "),)
        case ProposedFix("write", word) if _WORD.fullmatch(word) and token:
            yield (f"{before}{word}{tail}",)


def _without(text: str, is_odd: Callable[[str], object], instead: str) -> str:
    return "".join(instead if is_odd(character) else character for character in text)


def _assignments(document: Document, path: Path, problem: Problem, fix: ProposedFix) -> Iterator[list[Assignment]]:
    """Yield the possible edits that apply a proposed fix to the document. Each edit is a list of assignments.

    For example, the first edit for the fix "write 4Gi" is [Assignment(path, "4Gi")]. `path` is a path from `_paths_at`.
    """
    value, words = _at(document, path), fix.words
    match fix.verb:
        case "mean":
            yield [Assignment(path, words)]
            for target in _possible_paths(path[:-1], words):
                yield [Assignment(target, value), Assignment(path, REMOVED)]
        case "remove":
            is_path = words in _THIS
            for target in (
                (path,) if is_path else (*_possible_paths(path, words), *_paths_ending_with(document.root, (), words))
            ):
                yield from _removals(document, target)
        case "set" if move := _MOVE.fullmatch(words):
            yield [Assignment(read_path(move["key"]), value), Assignment(path, REMOVED)]
        case "set" if " only in " in words:
            yield from _removals(document, path)
        case "quote":
            yield [Assignment(path, _value(words.removeprefix("it: ")))]
        case _ if entry := _ENTRY.fullmatch(words) or _SETTING.fullmatch(words):
            yield from _entry_assignments(
                path, entry["key"], _value(entry["value"]), replaces=problem.rule == "unknown-key"
            )
        case "add":
            for target in (path, _OUTPUTS, *((*path[:end], "for") for end in range(len(path), 0, -1))):
                if isinstance(items := _at(document, target), list):
                    yield [Assignment((*target, len(items)), words)]
        case "write" if words == "it without quotes":
            yield [Assignment(path, _value(str(value)))]
        case "write" if not _REFERENCE.fullmatch(words):
            written = _value(words.removeprefix("the items by name: "))
            yield [Assignment(path, written)]
            yield [Assignment(path, words)]
            if isinstance(written, list):
                yield [Assignment(path[:-1], written)]


def _removals(document: Document, path: Path) -> Iterator[list[Assignment]]:
    """Yield the possible edits that remove the key at `path`. Each edit is a list with one assignment.

    If the key is `name` or `value` of a list item, the first edit removes the list item. The next edit removes the key
    alone. The last edits remove the parents that contain only this key.
    """
    if path[-1:] in (("name",), ("value",)) and isinstance(path[-2], int):
        yield [Assignment(path[:-1], REMOVED)]
    yield [Assignment(path, REMOVED)]
    for end in range(len(path) - 1, 1, -1):
        parent = _at(document, path[:end])
        if not isinstance(parent, Mapping | list) or len(parent) > 1:
            return
        yield [Assignment(path[:end], REMOVED)]


def _entry_assignments(path: Path, key: str, value: Any, *, replaces: bool) -> Iterator[list[Assignment]]:
    """Yield the possible edits that set a key to a value. Each edit is a list of assignments.

    The first edits set the key in the mapping at `path`, the next edits in the parents of this mapping, up to the root
    of the document.

    Args:
        path: the path of the problem.
        key: the key, such as `count`, or the path of the key in the job, such as `gang.queue`.
        value: the new value.
        replaces: True if the problem is an unknown key at `path`. The edits then begin at the mapping that contains the
            unknown key, and most of the edits also remove the unknown key.
    """
    if "." in key and not replaces:
        yield [Assignment(read_path(key), value)]
        return
    for end in range(len(path) - replaces, -1, -1):
        for target in _possible_paths(path[:end], key):
            if replaces:
                yield [Assignment(path, REMOVED), Assignment(target, value)]
                yield [Assignment(target, value), Assignment(path, REMOVED)]
            yield [Assignment(target, value)]


def _paths_ending_with(tree: YamlNode, path: Path, name: str) -> Iterator[Path]:
    """Yield the path of each key `name` in a part of a document, at any depth.

    `tree` is the node of this part. `path` is the path of this part in the document.
    """
    for step, entry in tree.children.items():
        if step == name:
            yield (*path, step)
        yield from _paths_ending_with(entry.value, (*path, step), name)


def _possible_paths(owner: Path, name: str) -> Iterator[Path]:
    """Yield the paths in the job that the key `name` of a message may mean.

    For example, the key `gpu.count` may mean a key of the mapping at `owner`, or the path ("spec", "gpu", "count"). If
    `name` is not a valid path in the job, yield only the first path.
    """
    steps = tuple(name.split("."))
    yield (*owner, *steps)
    try:
        yield read_path(name)
    except UsageError:
        return


def _at(document: Document, path: Path) -> Any:
    """Return the value at a path in the file; None for a missing value. Defaults from a tfgen.yaml do not count."""
    try:
        return data_path.follow(document.alone().data, path)
    except (LookupError, TypeError):
        return None


def _value(text: str) -> Any:
    """Parse a YAML value that is written on one line."""
    documents = parse(f"- {text}\n", "").documents
    items = documents[0].data if documents else [text]
    return items[0]

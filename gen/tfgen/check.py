"""Everything that is checked before anything is rendered: YAML, the schema, the rules.

    checked = check("apiVersion: tfgen/v1alpha1 ...", "job.yaml")
    checked.problems     -> (Problem("job.yaml", Position(12, 7), "...", "unknown-key"), ...)

All problems come at once, but none that only follows from another: the rules see the documents that the schema
accepts. Whether to render is the caller's to say: `problems.has_errors`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tfgen import schema
from tfgen.document import Document, decode, parse
from tfgen.problems import Position, Problem, in_order
from tfgen.rules import ACROSS, RULES
from tfgen.rules.rule import Rule
from tfgen.rules.view import View, views
from tfgen.schema_words import either

MOST: Final = 100
"""Findings of one rule in one document: more help nobody, and a file may be made to have a million."""


@dataclass(frozen=True)
class Checked:
    """The documents of all files, in their order, and all that is wrong with them, in order."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


def check(content: str | bytes, file: str) -> Checked:
    """Check one file. `content` is its text, or its bytes as they stand on disk."""
    return check_all([(content, file)])


def check_all(sources: Iterable[tuple[str | bytes, str]]) -> Checked:
    """Check several files together: each a content and the name that its problems carry."""
    documents: list[Document] = []
    accepted: list[Document] = []
    problems: list[Problem] = []
    for content, file in sources:
        text = content if isinstance(content, str) else decode(content, file)
        if isinstance(text, Problem):
            problems.append(text)
            continue
        parsed = parse(text, file)
        problems += parsed.problems
        # What the parser refused reads as something else: what the schema says of that is no news.
        refused = {problem.position for problem in parsed.problems}
        for document in parsed.documents:
            documents.append(document)
            found = schema.check(document)
            problems += (problem for problem in found if problem.position not in refused)
            if not found:
                accepted.append(document)
                problems += _rule_problems(document)
    problems += _across_problems(accepted)
    return Checked(tuple(documents), in_order(problems))


def _rule_problems(document: Document) -> Iterator[Problem]:
    """What the rules find in a job and in its environments: what both say at one place is said once."""
    forms = tuple(views(document))
    for rule in RULES:
        for (position, message), environments in _found(rule, forms).items():
            yield Problem(document.file, position, message + _where(environments), rule.id, rule.severity)


def _found(rule: Rule, forms: Iterable[View]) -> dict[tuple[Position, str], list[str | None]]:
    """The first `MOST` places and messages, with the environments that they hold in.

    An environment is None where the place itself says which: for the job, and for an environment's own lines.
    """
    found: dict[tuple[Position, str], list[str | None]] = {}
    for view in forms:
        for path, message in rule.check(view):
            environment = None if view.says(path) else view.environment
            found.setdefault((view.position(path), message), []).append(environment)
            if len(found) == MOST:
                return found
    return found


def _where(environments: list[str | None]) -> str:
    names = list(dict.fromkeys(name for name in environments if name is not None))
    if None in environments:
        return ""
    return f" (in the environment{'s' if len(names) > 1 else ''} {either(names, 'and')})"


def _across_problems(documents: list[Document]) -> Iterator[Problem]:
    for rule in ACROSS:
        for document, path, message in rule.check(documents):
            yield Problem(document.file, document.value(path), message, rule.id, rule.severity)

"""Prints a difference of jobs as Markdown for a comment on a pull request: a table, and the fields, folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tfgen.change.job_diff import EnvironmentDiff, JobDiff, ObjectDiff
from tfgen.plural import count
from tfgen.problems import Problem
from tfgen.report.diff_text import (
    SIGNS,
    changes_alike,
    delivery_title,
    field_lines,
    groups,
    place_changes,
    state,
    summary,
    title,
)

LONGEST: Final = 60_000
"""Characters: GitHub takes 65,536 for a comment."""

_ARROW: Final = "→"
"""For "->", of which Markdown that is read as text, as in a mail, would have an escape."""

_SHARE: Final = 0.5
"""The part of that for the tables; what is left is for the fields."""


def diff_markdown(diffs: Sequence[JobDiff], longest: int = LONGEST) -> str:
    """The difference in at most `longest` characters. A last line counts what does not fit."""
    changed = [diff for diff in diffs if diff]
    if not changed:
        return "No object changes.\n"
    heads = [_head(diff) for diff in changed]
    text, left_out = _fitting("", heads, int(longest * _SHARE), "job")
    folded = [text for diff in changed for text in _folded_parts(diff)]
    text, fields_left_out = _fitting(text, folded, longest - len(left_out) - 100, "environment")
    return text + left_out + fields_left_out


def _fitting(text: str, parts: Sequence[str], longest: int, what: str) -> tuple[str, str]:
    """The text with as many of the parts as fit, and a line that counts the others."""
    for number, part in enumerate(parts):
        if len(text) + len(part) > longest:
            rest = len(parts) - number
            return text, f"\n… and {count(rest, 'more ' + what)}: `tfgen diff` shows all.\n"
        text += part
    return text, ""


def _head(diff: JobDiff) -> str:
    rows = "".join(_row(environment) for environment in diff.environments)
    sections = {
        "Place": [_escaped(line) for environment in diff.environments for line in _place_lines(environment)],
        "What applies it": [_escaped(f"{item.action}: {delivery_title(item)}") for item in diff.delivery],
        "Needs a new run": [_problem(problem) for problem in diff.needs_new_run],
    }
    lists = "".join(_list(heading, lines) for heading, lines in sections.items() if lines)
    head = "| Environment | Objects | Asked of the cluster |\n|---|---|---|\n"
    return f"### {_escaped(diff.name)}\n\n{head}{rows}\n{lists}"


def _list(heading: str, lines: Sequence[str]) -> str:
    items = "".join(f"- {line}\n" for line in lines)
    return f"**{heading}**\n\n{items}\n"


def _place_lines(environment: EnvironmentDiff) -> Iterator[str]:
    """The lines on an environment that moves: its old and new place, and the objects that stay behind."""
    for change in place_changes(environment):
        yield f"{title(environment)}: {change.path} {change.before or 'none'} {_ARROW} {change.after or 'none'}"
    yield from (f"{title(environment)}: {line}" for line in environment.kept)


def _row(environment: EnvironmentDiff) -> str:
    counts = [(action, sum(item.action == action for item in environment.objects)) for action in SIGNS]
    objects = ", ".join(f"{number} {action}" for action, number in counts if number) or "no change"
    name, asked = (
        title(environment) + state(environment, _ARROW),
        summary(environment.before, environment.after, _ARROW),
    )
    return f"| {_escaped(name)} | {objects} | {_escaped(asked)} |\n"


def _problem(problem: Problem) -> str:
    return f"{_code(str(problem.place))} {_escaped(problem.message)}"


def _unlike(diff: JobDiff) -> list[EnvironmentDiff]:
    """The environments with changed objects. Of environments that change alike, only the first."""
    unlike: list[EnvironmentDiff] = []
    for environment in diff.environments:
        if environment.objects and not any(changes_alike(other, environment) for other in unlike):
            unlike.append(environment)
    return unlike


def _folded_parts(diff: JobDiff) -> Iterator[str]:
    for environment in _unlike(diff):
        alike = [
            title(other) for other in diff.environments if other is environment or changes_alike(environment, other)
        ]
        yield _folded(f"{diff.name}: {', '.join(alike)}", environment.objects)
    if changed := [item for item in diff.delivery if item.fields]:
        yield _folded(f"{diff.name}: what applies it", changed)


def _folded(name: str, objects: Sequence[ObjectDiff]) -> str:
    lines = []
    for items, fields in groups(objects):
        sign = SIGNS[items[0].action]
        lines.append(f"{'!' if sign == '~' else sign} {', '.join(item.title for item in items)}")
        for change in fields:
            lines += [_diff_line(line) for line in field_lines(change)]
    body = "\n".join(lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
    return f"<details><summary>{_escaped(name)}</summary>\n\n{fence}diff\n{body}\n{fence}\n\n</details>\n\n"


def _diff_line(line: str) -> str:
    """A line for a block of `diff`, which GitHub colours by the sign in the first column."""
    stripped = line.lstrip(" ")
    sign, indent = stripped[:1], len(line) - len(stripped)
    if sign in ("+", "-"):
        return f"{sign} {' ' * (indent + 2)}{stripped[2:]}"
    return f"  {' ' * indent}  {stripped.removeprefix('~ ')}"


def _escaped(text: str) -> str:
    """Text with the characters escaped that Markdown and HTML would read as markup."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&!])", lambda match: f"&#{ord(match[1])};", text)


def _code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{text}{fence}"

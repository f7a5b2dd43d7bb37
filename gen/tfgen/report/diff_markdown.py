"""Prints the differences of jobs as Markdown for a pull request comment: summary, tables, and collapsed field lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tfgen.change.job_diff import EnvironmentDiff, JobDiff, ObjectDiff
from tfgen.errors import Problem
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
from tfgen.words import count

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

LONGEST: Final = 60_000
"""Maximum number of characters of the comment. GitHub accepts 65,536."""

_ARROW: Final = "→"
"""Arrow between an old and a new value. An escaped "->" would be visible in the source, such as an e-mail."""

_SHARE: Final = 0.5
"""Share of the maximum length that the tables may use. The lists of fields use the remaining characters."""


def diff_markdown(diffs: Sequence[JobDiff], longest: int = LONGEST) -> str:
    """Return the differences in at most `longest` characters. The last lines count omitted jobs and environments."""
    changed = [diff for diff in diffs if diff]
    if not changed:
        return "No object changes.\n"
    heads = [_head(diff) for diff in changed]
    text, left_out = _fitting(_opening(changed), heads, int(longest * _SHARE), "job")
    folded = [text for diff in changed for text in _folded_parts(diff)]
    text, fields_left_out = _fitting(text, folded, longest - len(left_out) - 100, "environment")
    return text + left_out + fields_left_out


def _fitting(text: str, parts: Sequence[str], longest: int, noun: str) -> tuple[str, str]:
    """Append as many of the texts `parts` to `text` as fit into `longest` characters.

    Return the longer text, and a note about the omitted parts, such as "… and 2 more jobs: `tfgen diff` shows all." The
    note is empty if all parts fit. `noun` is the noun of the note, such as "job".
    """
    for number, part in enumerate(parts):
        if len(text) + len(part) > longest:
            omitted = len(parts) - number
            return text, f"\n… and {count(omitted, 'more ' + noun)}: `tfgen diff` shows all.\n"
        text += part
    return text, ""


def _opening(diffs: Sequence[JobDiff]) -> str:
    """Return the first line, about changed GPUs, runs and objects, such as "+4 GPUs in queue research"."""
    parts = [*_gpu_changes(diffs), *_run_changes(diffs)]
    sums = [(action, sum(_number(diff, action) for diff in diffs)) for action in SIGNS]
    objects = ", ".join(f"{number} {action}" for action, number in sums if number)
    sentences = [", ".join(parts), f"objects: {objects}" if objects else ""]
    line = "".join(f" {text[:1].upper()}{text[1:]}." for text in sentences if text).strip()
    return f"{line}\n\n" if line else ""


def _number(diff: JobDiff, action: str) -> int:
    """Return the number of objects with an action such as `added`, in all environments and among the GitOps objects."""
    items = [*diff.delivery, *(item for environment in diff.environments for item in environment.objects)]
    return sum(item.action == action for item in items)


def _gpu_changes(diffs: Sequence[JobDiff]) -> Iterator[str]:
    """Yield a text for each queue whose number of requested GPUs changes."""
    gpus: dict[str, Amount] = {}
    for environment in (environment for diff in diffs for environment in diff.environments):
        for sign, queue, sums in zip((-1, 1), environment.queues, (environment.before, environment.after), strict=True):
            for resource, value in sums.requests.items() if sums else ():
                if resource.endswith("/gpu"):
                    gpus[queue] = gpus.get(queue, 0) + sign * value
    for queue, value in gpus.items():
        if value:
            place = f" in queue {_code(queue)}" if queue else " without a queue" if len(gpus) > 1 else ""
            yield f"**{float(value):+g} {'GPU' if abs(value) == 1 else 'GPUs'}**{place}"


def _run_changes(diffs: Sequence[JobDiff]) -> Iterator[str]:
    """Yield the texts about runs, such as "2 of 3 jobs need a new run", "starts 1 new run" and "ends 1 run"."""
    environments = [environment for diff in diffs for environment in diff.environments]
    needing = sum(bool(diff.needs_new_run) for diff in diffs)
    if needing:
        verb = "needs" if needing == 1 else "need"
        yield f"{verb} a new run" if len(diffs) == 1 else f"{needing} of {len(diffs)} jobs {verb} a new run"
    starting = sum(environment.runs is not None for environment in environments)
    if starting:
        yield f"starts {count(starting, 'new run')}"
    ending = sum(environment.ends_run for environment in environments)
    if ending:
        yield f"ends {count(ending, 'run')}"


def _head(diff: JobDiff) -> str:
    rows = "".join(_row(environment) for environment in diff.environments)
    sections = {
        "Place": [_escaped(line) for environment in diff.environments for line in _place_lines(environment)],
        "GitOps objects": [_escaped(f"{item.action}: {delivery_title(item)}") for item in diff.delivery],
        "Needs a new run": [_problem(problem) for problem in diff.needs_new_run],
    }
    lists = "".join(_list(heading, lines) for heading, lines in sections.items() if lines)
    head = "| Environment | Objects | Requests |\n|---|---|---|\n"
    return f"### {_escaped(diff.name)}\n\n{head}{rows}\n{lists}"


def _list(heading: str, lines: Sequence[str]) -> str:
    items = "".join(f"- {line}\n" for line in lines)
    return f"**{heading}**\n\n{items}\n"


def _place_lines(environment: EnvironmentDiff) -> Iterator[str]:
    """Yield the lines about an environment's change of namespace or cluster, and about the kept claims."""
    for change in place_changes(environment):
        yield f"{title(environment)}: {change.path} {change.before or 'none'} {_ARROW} {change.after or 'none'}"
    yield from (f"{title(environment)}: {line}" for line in environment.kept_claims)


def _row(environment: EnvironmentDiff) -> str:
    counts = [(action, sum(item.action == action for item in environment.objects)) for action in SIGNS]
    objects = ", ".join(f"{number} {action}" for action, number in counts if number) or "no change"
    name = title(environment) + state(environment, _ARROW)
    requests = summary(environment.before, environment.after, _ARROW)
    return f"| {_escaped(name)} | {objects} | {_escaped(requests)} |\n"


def _problem(problem: Problem) -> str:
    return f"{_code(str(problem.place))} {_escaped(problem.message)}"


def _distinct(diff: JobDiff) -> list[EnvironmentDiff]:
    """Return the environments with changed objects. Of several environments with equal changes, return the first."""
    distinct: list[EnvironmentDiff] = []
    for environment in diff.environments:
        if environment.objects and not any(changes_alike(previous, environment) for previous in distinct):
            distinct.append(environment)
    return distinct


def _folded_parts(diff: JobDiff) -> Iterator[str]:
    for environment in _distinct(diff):
        titles = [title(peer) for peer in diff.environments if peer is environment or changes_alike(environment, peer)]
        yield _folded(f"{diff.name}: {', '.join(titles)}", environment.objects)
    if changed := [item for item in diff.delivery if item.fields]:
        yield _folded(f"{diff.name}: GitOps objects", changed)


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
    """Move the sign + or - of a line to the first column, so that GitHub colours the line in a `diff` block."""
    stripped = line.lstrip(" ")
    sign, indent = stripped[:1], len(line) - len(stripped)
    if sign in ("+", "-"):
        return f"{sign} {' ' * (indent + 2)}{stripped[2:]}"
    return f"  {' ' * indent}  {stripped.removeprefix('~ ')}"


def _escaped(text: str) -> str:
    """Escape all characters in a text that are markup in Markdown or HTML, and each `@`.

    GitHub and GitLab notify the person or team whose name follows an `@`, also an escaped `@`. A zero-width space after
    the `@` prevents the notification.
    """
    text = re.sub(r"([\\`*_{}\[\]<>|#~&!])", lambda match: f"&#{ord(match[1])};", text)
    return text.replace("@", "@&#8203;")


def _code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{text}{fence}"

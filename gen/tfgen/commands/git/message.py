"""Write the commit message of `tfgen commit` from the changes of the jobs.

Two examples:

    mnist: workers 4 -> 8 in prod

    Change mnist and cifar

    - mnist: workers 4 -> 8 in prod, image 1.4.0 -> 1.5.0
    - cifar: new job
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tfgen.change.comparison import Pair, PairPlaces
from tfgen.change.field_diff import NOTHING, FieldChange, FieldPath, field_changes
from tfgen.job.facts import environments_of
from tfgen.job.sources import source_name
from tfgen.schema import tunables
from tfgen.text.document import Document
from tfgen.tree.ledger import ledger_path
from tfgen.words import count, either, shown

_SUBJECT: Final = 72
"""Maximum length of the subject line: https://git-scm.com/docs/git-commit#_discussion."""
_BODY: Final = 20
"""Maximum number of changes that the message lists for a job."""
_LONGEST: Final = 40
"""Maximum number of characters of a value in the message."""

_OTHER_DEFAULTS: Final = "other defaults, rendered files unchanged"
"""Text in the commit message for a job whose defaults changed and whose rendered files did not change."""

_TASKS: Final = {"chief": "chiefs", "ps": "ps", "worker": "workers", "evaluator": "evaluators"}


def commit_message(changes: Mapping[str, Sequence[str]]) -> str:
    """Return the commit message: a subject line, and a body if the changes do not fit into the subject line.

    Args:
        changes: the results of `job_changes` by name of the job, for at least one job.
    """
    if len(changes) == 1:
        ((name, words),) = changes.items()
        subject = _subject_line(f"{name}: ", words)
        listed = "".join(f"- {line}\n" for line in _listed(words))
        return subject + "\n" if subject == f"{name}: {', '.join(words)}" else f"{subject}\n\n{listed}"
    subject = f"Change {either(list(changes), 'and')}"
    if len(subject) > _SUBJECT:
        subject = f"Change {len(changes)} jobs"
    lines = (f"- {name}: {', '.join(_listed(words))}\n" for name, words in changes.items())
    return f"{subject}\n\n{''.join(lines)}"


def job_words(
    matched: Sequence[PairPlaces],
    files: Mapping[str, set[str]],
    changed_files: Iterable[str],
    kept_jobs: Container[str] = (),
) -> dict[str, list[str]]:
    """Return the changes of each job in a few words, by name of the job. Jobs without changed files are left out.

    Example: {"mnist": ["workers 4 -> 8 in prod"]}. The commit message contains the result.

    Args:
        matched: the committed and the current version of each job.
        files: the paths of the files of each job, by name of the job.
        changed_files: the paths of the files that the commit changes.
        kept_jobs: the names of the jobs whose defaults changed and whose rendered files did not change.
    """
    changes: dict[str, list[str]] = {}
    changed_paths = {*changed_files}
    for pair in matched:
        touched = files[pair.name] & changed_paths
        if not touched:
            continue
        words = job_changes(pair.read())
        if words and pair.name in kept_jobs:
            words = [_OTHER_DEFAULTS]
        if words or any(path.endswith(ledger_path(pair.name)) for path in touched):
            changes[pair.name] = words or ["rendered again"]
    if not changes:
        changes = {pair.name: ["comments or layout changed"] for pair in matched if files[pair.name] & changed_paths}
    return changes


def job_changes(pair: Pair) -> list[str]:
    """Return a few words for each change of a job, such as "workers 4 -> 8 in prod"."""
    if pair.before is None:
        return ["new job"]
    if pair.after is None:
        return ["removed"]
    files = [source_name(Path(document.file)) for document in (pair.before, pair.after)]
    moved = [f"moved to {files[1]}"] if files[0] != files[1] else []
    return [*moved, *_changes(pair.before, pair.after)]


def _changes(before: Document, after: Document) -> Iterator[str]:
    old_names: list[str | None] = [*environments_of(before)]
    new_names: list[str | None] = [*environments_of(after)]
    if not (old_names and new_names):
        old_names, new_names = [None], [None]
    yield from (f"new environment {name}" for name in new_names if name not in old_names)
    yield from (f"environment {name} removed" for name in old_names if name not in new_names)
    common = [name for name in new_names if name in old_names]
    changes: dict[tuple[str, str], tuple[FieldChange, list[str | None]]] = {}
    for name in common:
        for change in field_changes(_values(before, name), _values(after, name)):
            key = (str(change.path), repr((change.before, change.after)))
            changes.setdefault(key, (change, []))[1].append(name)
    for change, names in changes.values():
        suffix = "" if names == common else f" in {either([str(name) for name in names], 'and')}"
        yield _words(change) + suffix


def _values(document: Document, environment: str | None) -> dict[str, Any]:
    """Return the spec of a job, merged with the settings of the environment and the defaults of the schema."""
    spec = tunables.without_environments(document.data["spec"])
    if environment is None:
        return tunables.merge(spec, tunables.values(spec))
    whole = document.data["spec"]
    environment_data = whole["environments"][environment]
    return tunables.merge(tunables.merge(spec, environment_data), tunables.values(whole, environment))


def _words(change: FieldChange) -> str:
    match change.path.steps:
        case ("roles", str(role), "replicas") if role in _TASKS:
            return f"{_TASKS[role]} {_value(change.before)} -> {_value(change.after)}"
        case ("enabled",) if False in (change.before, change.after):
            return "retired" if change.after is False else "no longer retired"
        case ("run",):
            return f"run {change.after or 'without a name'}"
        case (*parent, "image"):
            return f"{FieldPath((*parent, 'image'))} {_images(change.before, change.after)}"
    if change.before is NOTHING:
        return f"{change.path} is new" if _is_tree(change.after) else f"{change.path} {_value(change.after)}"
    if change.after is NOTHING:
        return f"{change.path} removed"
    if _is_tree(change.before) or _is_tree(change.after) or "" in (change.before, change.after):
        return f"{change.path} changed" if change.after != "" else f"{change.path} unset"
    return f"{change.path} {_value(change.before)} -> {_value(change.after)}"


def _images(before: Any, after: Any) -> str:
    """Return the old and the new image as text. If only the tag changed, return only the tags: "1.4.0 -> 1.5.0"."""
    old, new = str(before or "none"), str(after or "none")
    (old_repository, _, old_tag), (new_repository, _, new_tag) = old.rpartition(":"), new.rpartition(":")
    is_new_tag = old_repository and old_repository == new_repository and "/" not in old_tag + new_tag
    return f"{old_tag} -> {new_tag}" if is_new_tag else f"{old} -> {new}"


def _is_tree(value: Any) -> bool:
    return isinstance(value, (Mapping, list))


def _value(value: Any) -> str:
    plain = isinstance(value, str) and value.isprintable() and " " not in value and len(value) <= _LONGEST
    return str(value) if plain and value else "none" if value is NOTHING else shown(value, _LONGEST)


def _subject_line(head: str, words: Sequence[str]) -> str:
    """Return a subject line with as many changes as fit, such as "mnist: workers 4 -> 8 and 3 more".

    `head` is the beginning of the line, and `words` are the changes.
    """
    for number in range(len(words), 0, -1):
        omitted = len(words) - number
        subject = head + ", ".join(words[:number]) + (f" and {omitted} more" if omitted else "")
        if len(subject) <= _SUBJECT:
            return subject
    return head + count(len(words), "change")


def _listed(words: Sequence[str]) -> list[str]:
    omitted = len(words) - _BODY
    return [*words[:_BODY], *([f"and {omitted} more changes"] if omitted > 0 else [])]

"""``tfgen set``: values of a job, written into its file where they stand, with every other byte kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfgen import data_path
from tfgen.check.jobs import check_all
from tfgen.data_path import Path
from tfgen.errors import UsageError
from tfgen.job.named_job import choose_job
from tfgen.job.sources import Source
from tfgen.problems import Problem, has_errors
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.hints import json_types
from tfgen.schema.job_path import read_assignment
from tfgen.schema.key_order import key_order
from tfgen.text.document import Document
from tfgen.text.edit import REMOVED, Assignment, assign
from tfgen.text.parse import BYTE_ORDER_MARK, parse
from tfgen.text.reader import uncarried_message
from tfgen.text.yaml_text import uncarried
from tfgen.words import either, path_name, printable, shown

_ENVIRONMENTS: Path = ("spec", "environments")


class NewText(Record):
    """The text of a file with other values, and what is wrong with it. One with errors is not to be written."""

    text: str
    problems: tuple[Problem, ...]


def set_values(
    source: Source, text: str, assignments: Sequence[str], environment: str | None = None, job: str | None = None
) -> NewText:
    """A job's file with other values.

    Args:
        source: the file, and the defaults under it.
        text: the file's text, as `disk_file.read_text` gives it.
        assignments: each `PATH=VALUE`, in their order. A value is read as in job.yaml. null removes what is there: it
            is written only where the job, or the team's defaults, would otherwise say it.
        environment: the environment that is to have the values; None for the job itself.
        job: the name of the job, for a file with several.

    Raises:
        UsageError: an assignment is none, or the file or the job has no place for it.
        TfgenError: the job is so written that something else would change too.
    """
    content = source.text()
    if isinstance(content, Problem):
        return NewText(text, (content,))
    parsed = parse(content, source.file)
    if has_errors(parsed.problems):
        return NewText(text, parsed.problems)
    checked = check_all([source])
    document = choose_job(checked.documents, source.file, job)
    if not isinstance(document.data, dict):
        return NewText(text, checked.problems)
    if environment is not None and not data_path.has(document.data, (*_ENVIRONMENTS, environment)):
        known = data_path.at(document.data, _ENVIRONMENTS)
        names = either(known, "and") if isinstance(known, dict) and known else "none"
        raise UsageError(f"{source.file}: no environment {environment!r}; it has {names}")
    data, edits = document.alone().data, []
    for assignment in assignments:
        if match := uncarried(assignment):
            raise UsageError(f"{printable(assignment)}: {uncarried_message(match[0])}")
        edit = _assignment(document, data, *read_assignment(assignment), environment)
        _check_index(data, edit)
        edits.append(edit)
        gone = edit.value is REMOVED
        data = data_path.without(data, edit.path) if gone else data_path.with_value(data, edit.path, edit.value)
    edited = assign(text, document, edits)
    return NewText(edited, check_all([source.replaced(content=edited.removeprefix(BYTE_ORDER_MARK))]).problems)


def _assignment(document: Document, data: Any, path: Path, text: str, environment: str | None) -> Assignment:
    value, of_job = _value(path, text), None
    if environment is not None:
        inside = path[1:]
        if path[0] != "spec" or inside[:1] in ((), ("environments",), ("gitops",)):
            raise UsageError(f"{path_name(path)} is the same in all environments: set it without --env")
        of_job = data_path.at(document.data, path) if _is_by_name(path) else None
        path = (*_ENVIRONMENTS, environment, *inside)
    of_team = data_path.at(document.under.data, path) if document.under else None
    if value is None and of_job is None and of_team is None:
        value = REMOVED
    return Assignment(path, value, [_keys_before(data, path[:taken], step) for taken, step in enumerate(path)])


def _keys_before(data: Any, above: Path, step: str | int) -> tuple[str, ...]:
    """The keys of a mapping behind which a new one goes: those before it in the schema, or else all."""
    order = key_order(above)
    if order is None or step not in order:
        siblings = data_path.at(data, above)
        return tuple(siblings) if isinstance(siblings, dict) else ()
    return order[: order.index(str(step))]


def _is_by_name(path: Path) -> bool:
    """Whether a path leads to an entry of a map by name, which an environment takes out by null."""
    above = schema_file.node(schema_file.load(), path[:-1]) or {}
    return isinstance(path[-1], str) and not schema_file.is_record(above)


def _value(path: Path, text: str) -> Any:
    """A value as job.yaml would have it; text where the schema takes nothing else, so that `run=2` names a run.

    Raises:
        UsageError: it is no YAML.
    """
    if not text.strip() or text.lstrip().startswith("#"):
        return text
    parsed = parse(text, "value")
    if parsed.problems or len(parsed.documents) != 1:
        why = parsed.problems[0].message if parsed.problems else "it is several documents"
        raise UsageError(f"{path_name(path)}: {shown(text)} is no value: {why}")
    value = parsed.documents[0].data
    types = json_types(schema_file.node(schema_file.load(), path) or {"type": []})
    if isinstance(value, int | float) and "string" in types and not {"integer", "number", "boolean"} & {*types}:
        return parsed.documents[0].text(())
    return value


def _check_index(data: Any, edit: Assignment) -> None:
    """See that each index of a path leads to an item of a list, or to the place behind the last one.

    Raises:
        UsageError: one does not.
    """
    for taken, step in enumerate(edit.path):
        inner = _follow(data, edit.path[:taken])
        if not isinstance(step, int):
            if isinstance(inner, list):
                raise UsageError(f"{path_name(edit.path[:taken])} is a list: write [0] for its first item")
            continue
        name = path_name(edit.path[:taken])
        if not isinstance(inner, list):
            if inner is None and step == 0 and edit.value is not REMOVED:
                return
            raise UsageError(f"{name}: no list is there that has an item {step}")
        if step > len(inner) or (step == len(inner) and edit.value is REMOVED):
            known = [str(index) for index in range(len(inner) + (edit.value is not REMOVED))]
            raise UsageError(f"{name} has no item {step}" + (f"; write {either(known)}" if known else ""))


def _follow(data: Any, path: Path) -> Any:
    try:
        return data_path.follow(data, path)
    except (LookupError, TypeError):
        return None

"""``tfgen set``: set values in job.yaml. All other text, such as comments, remains unchanged."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.check.jobs import check_all
from tfgen.cli.arguments import job_argument, option
from tfgen.cli.output import OK, PROBLEMS, print_message, print_result, report
from tfgen.data_path import Path
from tfgen.disk_file import read_text, replace_text
from tfgen.errors import Problem, UsageError, has_errors
from tfgen.fix import REMOVED, Assignment
from tfgen.job.facts import choose_job
from tfgen.job.sources import Source, read_sources
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.file import key_order, read_assignment
from tfgen.schema.hints import json_types
from tfgen.text.document import Document
from tfgen.text.edit import assign
from tfgen.text.parse import BYTE_ORDER_MARK, parse
from tfgen.text.reader import forbidden_character_message
from tfgen.text.yaml_text import find_forbidden_character
from tfgen.words import command_line, either, path_name, printable, shown

EXAMPLE: Final = "tfgen set job.yaml --env prod roles.worker.replicas=8"


def arguments(parser: ArgumentParser) -> None:
    job_argument(parser)
    parser.add_argument(
        "assignments",
        nargs="+",
        metavar="PATH=VALUE",
        help="a value, such as roles.worker.replicas=4 or args[0]=--steps=100; null removes the key, as in gang=null",
    )
    option(parser, "--env", "ENV", "set the values of this environment")


def run(args: Namespace) -> int:
    file = args.job
    if not file.is_file():
        raise UsageError(f"{file}: the file does not exist; pass one job file")
    text = read_text(file)
    (source,) = read_sources([file])
    edited = set_values(source, text, args.assignments, args.env, args.job_name)
    is_invalid = has_errors(edited.problems)
    is_changed = not is_invalid and edited.text != text
    if is_changed:
        replace_text(file, text, edited.text)
    report(args, edited.problems, written={"changed": is_changed})
    if is_invalid:
        print_message(f"{file}: nothing was written; the line numbers refer to the file with the new values")
        return PROBLEMS
    if args.format == "text":
        next_step = f"\n\nNext:\n\n  {command_line('render', file)}"
        print_result(f"{file}: changed{next_step}" if is_changed else f"{file}: unchanged")
    return OK


_ENVIRONMENTS: Path = ("spec", "environments")


class NewText(Record):
    """The text of a job file with new values, and its problems. tfgen does not write a text with errors."""

    text: str
    problems: tuple[Problem, ...]


def set_values(
    source: Source, text: str, assignments: Sequence[str], environment: str | None = None, job: str | None = None
) -> NewText:
    """Return the text of a job file with new values.

    Args:
        source: the job file with its defaults.
        text: the text of the file from `disk_file.read_text`.
        assignments: the assignments `PATH=VALUE`. A value has YAML syntax. The value null removes the key from the
            file; the text gets `key: null` only if null must remove an inherited value.
        environment: the environment that gets the values; None for the job.
        job: the name of the job, for a file with several jobs.

    Raises:
        UsageError: an assignment is invalid, or its path does not exist in the schema or in the job.
        ProblemsError: the edit would change another value as well.
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
        environments = data_path.at(document.data, _ENVIRONMENTS)
        has_environments = isinstance(environments, dict) and environments
        choice = f"choose {either(environments)}" if has_environments else "add the environment to spec.environments"
        raise UsageError(f"{source.file}: the job has no environment {environment!r}; {choice}")
    data, edits = document.alone().data, []
    for assignment in assignments:
        if match := find_forbidden_character(assignment):
            raise UsageError(f"{printable(assignment)}: {forbidden_character_message(match[0])}")
        edit = _assignment(document, data, *read_assignment(assignment), environment)
        _check_index(data, edit)
        edits.append(edit)
        is_removal = edit.value is REMOVED
        data = data_path.without(data, edit.path) if is_removal else data_path.with_value(data, edit.path, edit.value)
    edited = assign(text, document, edits)
    return NewText(edited, check_all([source.replaced(content=edited.removeprefix(BYTE_ORDER_MARK))]).problems)


def _assignment(document: Document, data: Any, path: Path, text: str, environment: str | None) -> Assignment:
    value, job_value = _value(path, text), None
    if environment is not None:
        relative_path = path[1:]
        if path[0] != "spec" or relative_path[:1] in ((), ("environments",), ("gitops",)):
            raise UsageError(f"{path_name(path)} is the same in all environments; remove --env")
        # An environment removes an entry of the job by null at a name that the user chooses, such as a label.
        parent = schema_file.node(schema_file.load(), path[:-1]) or {}
        is_map_entry = isinstance(path[-1], str) and not schema_file.is_record(parent)
        job_value = data_path.at(document.data, path) if is_map_entry else None
        path = (*_ENVIRONMENTS, environment, *relative_path)
    default = data_path.at(document.under.data, path) if document.under else None
    if value is None and job_value is None and default is None:
        value = REMOVED
    return Assignment(path, value, [_preceding_keys(data, path[:end], step) for end, step in enumerate(path)])


def _preceding_keys(data: Any, parent: Path, step: str | int) -> tuple[str, ...]:
    """Return the keys after which tfgen inserts the new key `step` in a mapping.

    The mapping is at the path `parent` of `data`. If the schema has no order for the keys, return all existing keys of
    the mapping.
    """
    order = key_order(parent)
    if order is None or step not in order:
        siblings = data_path.at(data, parent)
        return tuple(siblings) if isinstance(siblings, dict) else ()
    return order[: order.index(str(step))]


def _value(path: Path, text: str) -> Any:
    """Parse the YAML text of the value at a path. If the schema allows only text, a number becomes text.

    For example, the value of `run=2` is "2".

    Raises:
        UsageError: the value is not YAML.
    """
    if not text.strip() or text.lstrip().startswith("#"):
        return text
    parsed = parse(text, "value")
    if parsed.problems or len(parsed.documents) != 1:
        reason = parsed.problems[0].message if parsed.problems else "the text has several documents"
        raise UsageError(f"{path_name(path)}: {shown(text)} is not a YAML value: {reason}")
    value = parsed.documents[0].data
    types = json_types(schema_file.node(schema_file.load(), path) or {"type": []})
    if isinstance(value, int | float) and "string" in types and not {"integer", "number", "boolean"} & {*types}:
        return parsed.documents[0].text(())
    return value


def _check_index(data: Any, edit: Assignment) -> None:
    """Check each list index in the path of an edit. The item must exist in the data, or be new at the end of the list.

    Raises:
        UsageError: an index is out of range, or the value is not a list.
    """
    for end, step in enumerate(edit.path):
        parent = _follow(data, edit.path[:end])
        name = path_name(edit.path[:end])
        if not isinstance(step, int):
            if isinstance(parent, list):
                raise UsageError(f"{name} is a list; write [0] for its first item")
            continue
        if not isinstance(parent, list):
            if parent is None and step == 0 and edit.value is not REMOVED:
                return
            raise UsageError(f"{name} is not a list, so it has no item {step}")
        if step > len(parent) or (step == len(parent) and edit.value is REMOVED):
            indexes = [str(index) for index in range(len(parent) + (edit.value is not REMOVED))]
            raise UsageError(
                f"{name} has no item {step}" + (f"; choose the index {either(indexes)}" if indexes else "")
            )


def _follow(data: Any, path: Path) -> Any:
    try:
        return data_path.follow(data, path)
    except (LookupError, TypeError):
        return None

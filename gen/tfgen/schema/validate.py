"""The check of a document against the job schema, in our own words.

    >>> check(parse("{apiVersion: tfgen/v1alpha1, kind: TrainingJob, metadata: {name: a}}", "job.yaml").documents[0])
    (Problem(file='job.yaml', position=Position(line=1, column=1), message='missing key "spec" in the document: ...

A fast validator finds what is wrong and where; `messages` puts it into words. An environment is checked twice: as
it is written, and merged over the job, since a volume may have one source in each and two together.
"""

from __future__ import annotations

import functools
import math
from itertools import islice
from typing import TYPE_CHECKING, Any

from tfgen import data_path
from tfgen.problems import Problem, in_order
from tfgen.schema import file as schema_file
from tfgen.schema import messages as schema_messages
from tfgen.schema import tunables
from tfgen.schema.file import load
from tfgen.schema.hints import json_types
from tfgen.schema.messages import CheckedData, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jsonschema_rs import Draft7Validator, ValidationError

    from tfgen.data_path import Path
    from tfgen.schema.file import Schema
    from tfgen.text.document import Document

# More than are ever said, since some are left unsaid; so a file of nothing but mistakes takes no time.
_MOST_ERRORS = 4 * schema_messages.MOST

_BEYOND = 2.0**51  # what no range of amounts has; above twice as much, every float64 is whole

# What is said of a key or a value by itself. A missing key, or a choice between two, may be the defaults' to mend.
_OF_THE_VALUE = frozenset(
    ("duplicate-item", "out-of-range", "quantity", "too-long", "too-many", "unknown-key", "wrong-format", "wrong-type")
)


def check(document: Document) -> tuple[Problem, ...]:
    """What is wrong with a document, in order; nothing for a valid job.

    Environments are merged only over a job without problems: everything else would be said twice.
    """
    data = document.data
    problems = list(schema_messages.translate(CheckedData(document, data, load()), schema_errors(data)))
    if not problems:
        for name in data["spec"].get("environments", {}):
            problems += _environment(document, name)
    return in_order(problems)


def check_alone(document: Document) -> tuple[Problem, ...]:
    """What is wrong with a job whatever the defaults under it say: what no default could add, remove or choose."""
    data = _without_nulls(document.data)
    problems = schema_messages.translate(CheckedData(document, data, load()), schema_errors(data))
    return in_order(problem for problem in problems if problem.rule in _OF_THE_VALUE)


def check_defaults(document: Document) -> tuple[Problem, ...]:
    """What is wrong with defaults over those above them, in order."""
    return _defaults_problems(document, document.data)


def check_defaults_alone(document: Document) -> tuple[Problem, ...]:
    """What is wrong with defaults whatever those above them say, which a null may be there to remove."""
    return _defaults_problems(document, _without_nulls(document.data))


def _defaults_problems(document: Document, data: Any) -> tuple[Problem, ...]:
    view = CheckedData(document, data, load(schema_file.DEFAULTS))
    return in_order(schema_messages.translate(view, schema_errors(data, schema_file.DEFAULTS)))


def _environment(document: Document, name: str) -> Iterator[Problem]:
    data = document.data
    spec = tunables.without_environments(data["spec"])
    environment = tunables.overrides(data["spec"]["environments"][name])
    merged = {**data, "spec": tunables.merge(spec, environment)}
    missing = tunables.missing_sections(spec, environment)
    for section in missing:
        yield schema_messages.missing_section(document, name, section)
    if not missing:
        yield from schema_messages.translate(CheckedData(document, merged, load(), name), schema_errors(merged))


def schema_errors(data: Any, name: str = schema_file.NAME) -> tuple[SchemaError, ...]:
    """What the validator finds by a schema, with the nodes of the schema that are broken."""
    checkable = _checkable(data)
    errors = islice(_validator(name).iter_errors(checkable), _MOST_ERRORS)
    return tuple(finding for error in errors for finding in _schema_errors(error, checkable, load(name)))


@functools.cache
def _validator(name: str) -> Draft7Validator:
    import jsonschema_rs  # 20 ms, which commands without a job need not pay

    return jsonschema_rs.Draft7Validator(dict(load(name)))


def _checkable(value: Any) -> Any:
    """The data with each fraction that is whole, as 2.0 is, as one beside it that draft-07 takes for no integer.

    Draft-07 lets 2.0 pass for an integer, but it would be printed as 2.0, which Kubernetes refuses.
    """
    if isinstance(value, dict):
        return {key: _checkable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_checkable(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return math.nextafter(max(-_BEYOND, min(value, _BEYOND)), 0.5)  # inwards: it stays in every range of amounts
    return value


def _schema_errors(error: ValidationError, data: Any, schema: Schema) -> Iterator[SchemaError]:
    *place, keyword = error.schema_path
    node = data_path.follow(schema, place)
    if keyword in ("minimum", "maximum") and isinstance(error.instance, float) and "number" not in json_types(node):
        return  # its type is said
    details = error.kind.as_dict()
    of_key = "error" in details  # propertyNames: the error inside is the key's
    if of_key:
        names = [details["error"].instance]
    else:
        names = details.get("unexpected") or [details[key] for key in ("property",) if key in details]
    for path in _paths(data, error.instance_path, error.instance):
        yield SchemaError(path, str(keyword), node, tuple(names[: schema_messages.MOST]), of_key)


def _paths(data: Any, pointer: Sequence[str | int], instance: Any) -> Iterator[Path]:
    """The paths that the validator's pointer to an instance may mean.

    It gives a key such as "08" as the number 8. So a number in a mapping means each key of that value that leads to
    the instance; they have one schema, since the names that the schema knows have letters. And it leaves out empty
    keys, so one may stand wherever the pointer leads nowhere.
    """
    if not pointer and data == instance:
        yield ()
        return
    leads = False
    for step in _steps(data, pointer[0]) if pointer else ():
        for path in _paths(data[step], pointer[1:], instance):
            leads = True
            yield (step, *path)
    if not leads and isinstance(data, dict) and "" in data:
        for path in _paths(data[""], pointer, instance):
            yield ("", *path)


def _without_nulls(value: Any) -> Any:
    """The value without the keys that only remove a default."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


def _steps(data: Any, first: str | int) -> list[str | int]:
    """The keys or the index that the pointer's next part may mean here."""
    if isinstance(data, list):
        return [first] if isinstance(first, int) and first < len(data) else []
    if not isinstance(data, dict):
        return []
    if isinstance(first, str):
        return [first] if first in data else []
    return [key for key in data if _reads_as(key, first)]


def _reads_as(key: str, number: int) -> bool:
    digits = key.removeprefix("+")
    return digits.isdecimal() and digits.lstrip("0") == str(number).lstrip("0")

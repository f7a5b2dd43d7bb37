"""Checks a document against the schema, and reports problems with readable messages.

    >>> check(parse("{apiVersion: tfgen/v1alpha1, kind: TrainingJob, metadata: {name: a}}", "job.yaml").documents[0])
    (Problem(file='job.yaml', position=Position(line=1, column=1), message='missing key "spec" in the document: ...

A fast validator finds the errors, and `messages` translates the errors to words. tfgen checks an environment twice:
alone, and merged over the job. For example, if the job and the environment set different sources of a volume, only the
merged volume has two sources. A problem of the job leaves a value unknown, and tfgen reports no problem of the merged
job that depends on the value (`unknown`).
"""

from __future__ import annotations

import functools
import math
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfgen import data_path
from tfgen.data_path import UnknownValueError, is_unknown, known_part, mark, until_unknown
from tfgen.errors import Problem, in_order
from tfgen.schema import file as schema_file
from tfgen.schema import messages as schema_messages
from tfgen.schema import tunables
from tfgen.schema.file import load
from tfgen.schema.hints import json_types
from tfgen.schema.messages import CheckedData, Mistakes, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jsonschema_rs import Draft7Validator, ValidationError

    from tfgen.data_path import Path
    from tfgen.schema.file import Schema
    from tfgen.text.document import Document

# A limit, so that a file full of mistakes is checked quickly. Some errors are not reported, so the limit is above MOST.
_MOST_ERRORS = 4 * schema_messages.MOST

_ENVIRONMENTS: Final = ("spec", "environments")

_BEYOND = 2.0**51  # larger than any limit in the schema; from 2^52 on, every float64 is a whole number

# Problems of a single key or value. Defaults may still fix other problems, such as a missing key.
_OF_THE_VALUE = frozenset(
    ("duplicate-item", "out-of-range", "quantity", "too-long", "too-many", "unknown-key", "wrong-format", "wrong-type")
)


class Validated(NamedTuple):
    """The result of the validation of a job.

    Attributes:
        problems: the problems, in the order of the file; empty for a valid job.
        document: the document, in which each value that a problem leaves unknown is `UNKNOWN`. For a valid job, the
            document is unchanged.
    """

    problems: tuple[Problem, ...]
    document: Document


def check(document: Document) -> tuple[Problem, ...]:
    """Return the problems of a job, in the order of the file; empty for a valid job."""
    return validate(document).problems


def validate(document: Document) -> Validated:
    """Validate a job, and each environment merged over the job.

    In the merged data, the function ignores the values that are already unknown because of a problem of the document.
    """
    view = CheckedData(document, document.data, load())
    problems, unknown = schema_messages.translate(view, schema_errors(document.data))
    marked = _marked(document, unknown)
    for name in until_unknown(_environment_names(marked.data)):
        with suppress(UnknownValueError):  # the merge reads a value that is unknown
            of_environment = _environment(marked, name)
            problems += of_environment.problems
            unknown += of_environment.unknown
    return Validated(in_order(problems), _marked(document, unknown))


def _environment_names(data: Any) -> Iterator[str]:
    yield from data_path.at(data, _ENVIRONMENTS) or ()


def _marked(document: Document, unknown: Sequence[Path]) -> Document:
    if not unknown:
        return document
    unmerged = None if document.under is None else mark(document.unmerged, unknown)
    return document.replaced(data=mark(document.data, unknown), unmerged=unmerged)


def check_alone(document: Document) -> tuple[Problem, ...]:
    """Return the problems of a job that tfgen could not merge with its layers, because the layers have problems.

    Omit problems that the defaults of a layer may fix, such as a missing key.
    """
    data = _without_nulls(document.data)
    problems = schema_messages.translate(CheckedData(document, data, load()), schema_errors(data)).problems
    return in_order(problem for problem in problems if problem.rule in _OF_THE_VALUE)


def check_defaults(document: Document) -> tuple[Problem, ...]:
    """Return the problems of a layer, in the order of the file. tfgen has merged the document over the layers above."""
    return _defaults_problems(document, document.data)


def check_defaults_alone(document: Document) -> tuple[Problem, ...]:
    """Return the problems of a layer by itself. A null is allowed, because it may remove a value of a layer above."""
    return _defaults_problems(document, _without_nulls(document.data))


def _defaults_problems(document: Document, data: Any) -> tuple[Problem, ...]:
    view = CheckedData(document, data, load(schema_file.DEFAULTS))
    return in_order(schema_messages.translate(view, schema_errors(data, schema_file.DEFAULTS)).problems)


def _environment(document: Document, name: str) -> Mistakes:
    data = document.data
    spec = tunables.without_environments(data["spec"])
    environment = tunables.overrides(data["spec"]["environments"][name])
    merged = {**data, "spec": tunables.merge(tunables.merge(spec, environment), _replaced_claims(spec, environment))}
    missing = tuple(
        section
        for section in tunables.missing_sections(spec, environment)
        if not is_unknown(spec, section) and not is_unknown(environment, section)
    )
    merged = mark(merged, (("spec", *section) for section in missing))
    known, unknown = known_part(merged)
    # The constraints of a mapping or a list depend on the values inside.
    errors = [e for e in schema_errors(known) if not any(path[: len(e.path)] == e.path for path in unknown)]
    found = schema_messages.translate(CheckedData(document, merged, load(), name), errors)
    return Mistakes(
        (*(schema_messages.missing_section(document, name, section) for section in missing), *found.problems),
        (*((*_ENVIRONMENTS, name, *section) for section in missing), *found.unknown),
    )


def _replaced_claims(spec: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nulls that remove the keys of each new claim that an existing claim of the environment replaces."""
    storage: dict[str, Any] = {}
    for volume, settings in (environment.get("storage") or {}).items():
        claim = settings.get("claim") if settings else None
        if claim and claim.get("name"):
            of_job = spec.get("storage", {}).get(volume, {}).get("claim") or {}
            storage[volume] = {"claim": {key: None for key in of_job if key not in claim}}
    return {"storage": storage} if storage else {}


def schema_errors(data: Any, name: str = schema_file.NAME) -> tuple[SchemaError, ...]:
    """Return the errors that the validator finds, with the violated nodes of the schema."""
    checkable = _checkable(data)
    errors = islice(_validator(name).iter_errors(checkable), _MOST_ERRORS)
    return tuple(finding for error in errors for finding in _schema_errors(error, checkable, load(name)))


@functools.cache
def _validator(name: str) -> Draft7Validator:
    import jsonschema_rs  # the import takes 20 ms; commands without a job do not need it

    return jsonschema_rs.Draft7Validator(dict(load(name)))


def _checkable(value: Any) -> Any:
    """Return a copy of a value in which each whole float, such as 2.0, becomes a fraction, such as 1.9999999999999998.

    So the validator reports 2.0 in place of an integer. The validator would accept 2.0, but Kubernetes refuses 2.0.
    """
    if isinstance(value, dict):
        return {key: _checkable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_checkable(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return math.nextafter(max(-_BEYOND, min(value, _BEYOND)), 0.5)  # towards 0, to stay in its range
    return value


def _schema_errors(error: ValidationError, data: Any, schema: Schema) -> Iterator[SchemaError]:
    *place, keyword = error.schema_path
    node = data_path.follow(schema, place)
    if keyword in ("minimum", "maximum") and isinstance(error.instance, float) and "number" not in json_types(node):
        return  # the error of the wrong type is reported instead
    details = error.kind.as_dict()
    is_about_key = "error" in details  # propertyNames: the nested error belongs to the key
    if is_about_key:
        names = [details["error"].instance]
    else:
        names = details.get("unexpected") or [details[key] for key in ("property",) if key in details]
    for path in _paths(data, error.instance_path, error.instance):
        yield SchemaError(path, str(keyword), node, tuple(names[: schema_messages.MOST]), is_about_key)


def _paths(data: Any, pointer: Sequence[str | int], instance: Any) -> Iterator[Path]:
    """Yield each path in `data` that the JSON pointer of a validator error may mean, and whose value equals `instance`.

    The pointers of the validator are ambiguous. The key "08" appears as the number 8, and an empty key does not appear.
    So the number 8 may mean the keys "8" and "08". Keys such as "8" and "08" in one mapping always have the same
    schema, because the key names in the schema contain letters. If no other path has the value, try an empty key.
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
    """Return a copy of a value without its null values. In a job, null removes a default."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _steps(data: Any, first: str | int) -> list[str | int]:
    """Return the keys or the list index that a step of a JSON pointer may mean, such as "8" and "08" for the step 8."""
    if isinstance(data, list):
        return [first] if isinstance(first, int) and first < len(data) else []
    if not isinstance(data, dict):
        return []
    if isinstance(first, str):
        return [first] if first in data else []
    return [key for key in data if re.fullmatch(rf"\+?0*{first}", key)]

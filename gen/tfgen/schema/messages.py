"""Translates the errors of a validator to messages: the value in the file, the allowed values, and a hint.

    SchemaError(("spec", "port"), "maximum", {"type": "integer", "minimum": 1, "maximum": 65535}, ())
    job.yaml:9:9: spec.port: found 70000, expected an integer from 1 to 65535 [out-of-range]

Each mistake causes one problem: a misspelt key is not also reported as missing, and if a value violates two
constraints, only the first violation is reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfgen import data_path
from tfgen.errors import Problem, UsageError
from tfgen.fix import NO_HINT, Assignment, Fix, Hint, Rename, Replacement, assignment, meant, removal
from tfgen.fix import hint as make_hint
from tfgen.kubernetes import quantity
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.schema.hints import (
    LONG_FORMS,
    advice_for,
    can_import,
    choices,
    expected,
    flow,
    hint_for_key,
    integers,
    json_types,
    one_line,
    write,
)
from tfgen.text.yaml_text import find_odd_space
from tfgen.words import NEAR, command_line, either, nearest, path_name, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tfgen.data_path import Path
    from tfgen.schema.file import Schema
    from tfgen.text.document import Document

RULES: Mapping[str, str] = {
    "duplicate-item": "A list contains an item twice, but its items must be unique.",
    "exactly-one-of": "A mapping needs exactly one of several keys, but has none or more than one.",
    "missing-key": "A mapping does not have a required key.",
    "not-allowed": "A value is not one of the allowed values.",
    "not-tunable": "An environment sets a field that must be the same in every environment.",
    "nothing-to-remove": "An environment sets a key to null, but the job does not have the key.",
    "out-of-range": "A number is too small or too large.",
    "quantity": "An amount is not a valid Kubernetes quantity.",
    "reserved-name": "A name is reserved for tfgen.",
    "too-few": "A list or mapping has too few items.",
    "too-long": "A text is too long.",
    "too-many": "A list or mapping has too many entries.",
    "unknown-key": "A key does not exist in the job schema.",
    "wrong-format": "A text or a mapping has the wrong format.",
    "wrong-kind": "A document has the wrong kind.",
    "wrong-type": "A value has the wrong type.",
}
"""The summaries of the rules that the schema checks, by the id of the rule."""

JOB_KIND = "TrainingJob"

_BY_NAME: Final = (("roles",), ("environments",))
"""The keys of a spec whose values are maps by name. An empty entry has a meaning: `worker: {}` is a role."""
_OF_ENVIRONMENT: Final = ("spec", "environments", "ENV")

MOST = 100
"""Maximum number of reported problems per document, because the search for hints takes time."""


class SchemaError(Record):
    """A value or a key that violates a keyword of the schema.

    Attributes:
        path: the path of the value; for a wrong or missing key, the path of the mapping.
        keyword: the keyword of JSON Schema, such as `maximum`.
        node: the node of the schema that contains the keyword.
        names: the unknown keys, the missing key, or the wrong key. A wrong value has no names.
        is_about_key: True if the key `names[0]` violates the keyword, for example if the name of a volume has a wrong
            format. False if a value violates the keyword.
    """

    path: Path
    keyword: str
    node: Schema
    names: tuple[str, ...]
    is_about_key: bool = False


class CheckedData(Record):
    """The checked data, and the document that contains the position of each value.

    Attributes:
        data: the data of the document, or the data of the job with the environment merged over the job.
        schema: the schema of the check.
        environment: the name of the environment whose values are merged over the job; None for the document itself.
    """

    document: Document
    data: Any
    schema: Schema
    environment: str | None = None

    def path_in_file(self, path: Path) -> Path:
        """Convert a path in the checked data to the path in the file.

        If an environment is merged over the job, the result is the path in `spec.environments`.
        """
        if self.environment is None or path[:1] != ("spec",):
            return path
        return ("spec", "environments", self.environment, *path[1:])

    def value(self, path: Path) -> Any:
        """Return the checked data at a path."""
        return data_path.follow(self.data, path)

    def text(self, path: Path) -> str | None:
        """Return the text of the scalar at a path, as the scalar is written in the file."""
        return self.document.text(self.path_in_file(path))

    def problem(self, path: Path, message: str, rule: str, *, at_key: bool = False, hint: Hint = NO_HINT) -> Problem:
        """Return a problem whose position is the value at a path or, with `at_key`, the key of the value."""
        place = self.document.key if at_key else self.document.value
        written = self.path_in_file(path)
        fixes = tuple(fix.moved(self.path_in_file) for fix in hint.fixes)
        return Problem(self.document.source(written), place(written), f"{message}{hint.text}", rule, fixes=fixes)

    def name(self, path: Path) -> str:
        """Convert a path in the checked data to the text of the path in the file, such as `spec.roles.worker`."""
        return path_name(self.path_in_file(path))

    def unexpected(
        self, error: SchemaError, found: str, expected: str, rule: str, *, at_key: bool = False, hint: Hint = NO_HINT
    ) -> Problem:
        """Return the problem of a value or a key, whose message has what tfgen found and what tfgen expected.

        The position of the problem is the value or, with `at_key`, the key of the value.
        """
        path = (*error.path, *error.names) if error.is_about_key else error.path
        message = f"{self.name(error.path)}: found {found}, expected {expected}"
        return self.problem(path, message, rule, at_key=at_key or error.is_about_key, hint=hint)


class Mistakes(NamedTuple):
    """The mistakes in checked data.

    Attributes:
        problems: one problem for each mistake.
        unknown: the paths in the file whose values are unknown until the user corrects the mistakes: the refused
            values, and the values of the keys that the user may mean with an unknown key. If tfgen does not know which
            key the user means, the complete mapping is unknown.
    """

    problems: tuple[Problem, ...] = ()
    unknown: tuple[Path, ...] = ()


def translate(checked: CheckedData, schema_errors: Sequence[SchemaError]) -> Mistakes:
    """Translate the errors of the validator to mistakes, up to `MOST` mistakes."""
    if not schema_errors:
        return Mistakes()
    other_kind = _other_kind(checked)
    if other_kind is not None:
        return Mistakes((other_kind,), ((),))
    problems: list[Problem] = []
    unknown = [
        checked.path_in_file(path)
        for error in schema_errors
        for path in [(*error.path, name) for name in error.names] or [error.path]
    ]
    for error in _root_causes(schema_errors):
        found = (*_TRANSLATIONS[error.keyword](checked, error),)
        problems += found
        unknown += (path for problem in found for path in _meant_paths(checked.path_in_file(error.path), problem))
        if len(problems) >= MOST:
            break
    is_complete = len(schema_errors) < MOST
    return Mistakes(tuple(problems[:MOST]), tuple(dict.fromkeys(unknown)) if is_complete else ((),))


def _meant_paths(mapping: Path, problem: Problem) -> Iterator[Path]:
    """Yield the paths of the values that an unknown key in a mapping leaves unknown, except for the key itself."""
    if problem.rule == "not-tunable":
        yield mapping[: len(_OF_ENVIRONMENT)]
    elif problem.rule in ("unknown-key", "wrong-format"):
        for edit in (edit for fix in problem.fixes for edit in fix.edits):
            if isinstance(edit, Rename):
                yield (*edit.path[:-1], edit.key)
            elif isinstance(edit, Assignment):
                yield edit.path
        if not problem.fixes and problem.rule == "unknown-key":
            yield mapping


def missing_section(document: Document, environment: str, section: tuple[str, ...]) -> Problem:
    """Return the problem for an environment that changes a section, such as `gang`, which the job does not have."""
    path = ("spec", "environments", environment, *section)
    *_, name = section
    if _can_be_off(schema_file.load(), section):
        disabled = _disabled_section(section, {})
        first = f"write {disabled}, and enabled: true in each environment that uses {name};"
    else:
        first = f"write {path_name(('spec', *section))} first,"
    fix = removal(path, is_choice=True)
    message = f"{path_name(path[:3])} changes {shown(name)}, which the job does not have; {first} or {fix.words}"
    return Problem(document.source(path), document.key(path), message, "not-tunable", fixes=(fix,))


def _can_be_off(schema: Schema, section: Path) -> bool:
    """Test whether an environment may set the key `enabled` of a section."""
    node = schema_file.node(schema, ("spec", *section)) or {}
    return "enabled" in node.get("properties", {}) and "default" not in node


def _disabled_section(section: Path, values: Mapping[str | int, Any]) -> str:
    """Return the YAML for a disabled section with its required keys, for example `gang: {enabled: false}`.

    The mapping `values` contains values for the keys of the section. A required key that is not in `values` gets the
    first example of the schema.
    """
    schema = schema_file.load()
    node = schema_file.node(schema, ("spec", *section)) or {}
    examples = {key: (schema_file.entry(schema, node, key) or {})["examples"][0] for key in node.get("required", ())}
    needed = {key: values.get(key, example) for key, example in examples.items()}
    return f"{path_name(('spec', *section))}: {flow({**needed, 'enabled': False})}"


def _root_causes(schema_errors: Iterable[SchemaError]) -> Iterator[SchemaError]:
    """Yield each error that no other error causes. For example, a misspelt key causes the error about a missing key."""
    ordered = sorted(schema_errors, key=lambda error: TRANSLATED_KEYWORDS.index(error.keyword))
    unknown_keys: dict[Path, set[str]] = {}
    for error in ordered:
        if error.keyword == "additionalProperties" or (error.is_about_key and error.keyword == "enum"):
            unknown_keys.setdefault(error.path, set()).update(error.names)
    reported: set[tuple[Path, tuple[str, ...]]] = set()
    for error in ordered:
        subject = (error.path, error.names)
        if subject not in reported and not _is_caused_by_another(error, unknown_keys, reported):
            reported.add(subject)
            yield error


def _is_caused_by_another(
    error: SchemaError, unknown_keys: Mapping[Path, Collection[str]], reported: Collection[tuple[Path, tuple[str, ...]]]
) -> bool:
    """Test whether another error in the same document causes `error`.

    Args:
        error: the error.
        unknown_keys: the unknown keys of each mapping in the document, as in ``{("spec",): {"imagee"}}``.
        reported: the path and the names of each error that tfgen already reports, as in ``(("spec",), ("imagee",))``.
    """
    path = error.path
    if any(path[end] in unknown_keys.get(path[:end], ()) for end in range(len(path))):
        return True
    misspelt = unknown_keys.get(path, ())
    if error.keyword == "required":
        return any(nearest(name, error.names) for name in misspelt)
    if error.keyword == "dependencies" and (path, ()) in reported:
        return True
    return bool(misspelt) and error.keyword in ("not", "oneOf", "minProperties", "maxProperties", "dependencies")


def _unknown_key(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    for key in error.names:
        path = (*error.path, key)
        # A key of an environment that is also a key of the spec, at the same path.
        is_of_spec = path[:2] == ("spec", "environments") and len(path) > 3
        if is_of_spec and not error.is_about_key and schema_file.node(checked.schema, ("spec", *path[3:])) is not None:
            yield _not_tunable(checked, path)
        else:
            owner = {"propertyNames": error.node} if error.is_about_key else error.node
            hint = (
                _odd_space(key)
                or advice_for(path, checked.value(path))
                or hint_for_key(key, owner, checked.schema, error.path, checked.value(path))
            )
            if key.startswith("x-"):
                hint = Hint("; move the key to the top level of the document, which allows keys that begin with x-")
            message = f"unknown key {shown(key)} in {checked.name(error.path)}"
            yield checked.problem(path, message, "unknown-key", at_key=True, hint=hint)


def _not_tunable(checked: CheckedData, path: Path) -> Problem:
    environment, inside = path_name(path[:3]), path[3:]
    section = inside[:1]
    if _can_be_off(checked.schema, section) and not data_path.has(checked.data, ("spec", *section)):
        values = {inside[-1]: checked.value(path)} if len(inside) == len(section) + 1 else {}
        fix = f"write {_disabled_section(section, values)} in the job, and enabled: true in {environment}"
    else:
        fix = f"set {path_name(('spec', *inside))}, or make {environment} a separate job"
    message = f"{path_name(inside)} must be the same in every environment; {fix}"
    return checked.problem(path, message, "not-tunable", at_key=True)


def _missing_key(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    (name,) = error.names
    node = schema_file.resolve(checked.schema, error.node["properties"][name])
    message = f"missing key {shown(name)} in {checked.name(error.path)}: {schema_file.first_sentence(node)}".rstrip(".")
    hint = NO_HINT
    if "const" in node:
        hint = make_hint(assignment((*error.path, name), node["const"], f"write {name}: {node['const']}"))
    yield checked.problem(error.path, message, "missing-key", at_key=True, hint=hint)


def _missing_companion(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    (name,) = error.names
    needing = [key for key in checked.value(error.path) if name in error.node["dependencies"].get(key, ())]
    message = f"{checked.name((*error.path, needing[0]))}: this key requires the key {shown(name)} in the same mapping"
    yield checked.problem((*error.path, needing[0]), message, "missing-key", at_key=True)


def _wrong_type(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    value = checked.value(error.path)
    if value is None and checked.environment is not None:
        message = f"{checked.name(error.path)}: found null, but the job has no {path_name(error.path)} to remove"
        yield checked.problem(error.path, message, "nothing-to-remove")
        return
    text = checked.text(error.path) or ""
    hint = _in_required_form(checked, error)
    requirement = expected(error.node) + ("" if hint else _such_as(checked, error))
    if not isinstance(value, (str, bool)) and text and "string" in json_types(error.node):
        requirement = _form(text, error.node) or requirement
    hint = hint or hint_for_value(error.path, value, text, error.node)
    yield checked.unexpected(error, found_words(value, text), requirement, "wrong-type", hint=hint)


def _in_required_form(checked: CheckedData, error: SchemaError) -> Hint:
    """Return the hint to write the content of a value of a wrong type in the required form, such as a list of items."""
    path, value, types = error.path, checked.value(error.path), json_types(error.node)
    if types == ["object"] and (advice := advice_for(path, value)):
        return advice
    if value is None:
        return _instead_of_null(path, error.node)
    if odd_space := _odd_space(value):
        return odd_space
    if isinstance(value, str) and types == ["object"] and len(error.node.get("required", ())) == 1:
        return write(path, flow({error.node["required"][0]: value}))  # {name: hub} instead of hub
    if not isinstance(value, dict) or not value:
        return NO_HINT
    if types == ["array"]:
        items = schema_file.resolve(checked.schema, error.node.get("items", {}))
        is_item = value.keys() <= items.get("properties", {}).keys()
        return write(path, one_line([value])) if is_item else NO_HINT  # [{key: gpu}] instead of {key: gpu}
    (key, *others) = value
    text = checked.text((*path, key))
    if types != ["string"] or others or not isinstance(path[-1], int) or text is None:
        return NO_HINT
    # Without quotes, YAML reads a text with a colon, such as --x: y, as a mapping.
    quoted = shown(f"{key}: {text}".rstrip())
    edit = Replacement(f"^{re.escape(key)}: *{re.escape(text)}", quoted, "rest")
    return make_hint(Fix(f"quote it: {quoted}", (edit,)))


def _instead_of_null(path: Path, node: Schema) -> Hint:
    """Return the hint for a value that is null: disable the section, remove the key, or write the empty value."""
    if path[:1] != ("spec",):
        return NO_HINT
    keys = tuple(map(str, path[len(_OF_ENVIRONMENT) :] if path[1:2] == ("environments",) else path[1:]))
    tunable = tunables.all_tunables().get(keys)
    if tunable and tunable.is_optional:
        # An empty map of a role changes nothing, and an empty image of a role is no image.
        empty = "" if json_types(node) == ["object"] or keys[-1] == "image" else _empty(node)
        value = "the value of the job" if keys[-1:] in tunables.all_tunables() else "the default"
        removed = make_hint(removal(path), end=f": the role then has {value}")
        if not empty:
            return removed
        written = write(path, empty)
        return Hint(f"{removed.text}, or {written.fixes[0].words}", (*removed.fixes, *written.fixes))
    if json_types(node) != ["object"]:
        return NO_HINT
    if path[1:2] != ("environments",) or len(path) <= len(_OF_ENVIRONMENT):
        is_optional_section = schema_file.is_record(node) and "default" not in node and path[1:2] not in _BY_NAME
        return make_hint(removal(path)) if is_optional_section else NO_HINT
    environment = path[2]
    if "enabled" in node.get("properties", {}):
        return write(path, "{enabled: false}", end=" to switch the section off")
    if keys[0] == "roles" and len(keys) == len(("roles", "ROLE")):
        fix = removal(path, is_choice=True)
        words = f"each environment has all roles of the job: {fix.words}, or make {environment} a separate job"
        return Hint(f"; {words}", (fix,))
    return make_hint(removal(path), end=": the environment then has the values of the job")


def _wrong_constant(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    words = found_words(checked.value(error.path), checked.text(error.path) or "")
    yield checked.unexpected(error, words, error.node["const"], "wrong-kind")


def _not_allowed(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    if error.is_about_key:
        yield from _unknown_key(checked, error)
        return
    value = checked.value(error.path)
    long_form = LONG_FORMS.get(str(value).upper())
    near = long_form if long_form in error.node["enum"] else nearest(value, error.node["enum"], NEAR)
    hint = _odd_space(value) or meant(near, Assignment(error.path, near))
    yield checked.unexpected(error, shown(value), expected(error.node), "not-allowed", hint=hint)


def _out_of_range(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    value = checked.value(error.path)
    may_be_quoted = "string" in json_types(error.node) and value > 0
    advice = f'; quote a larger number: "{value}"' if may_be_quoted else ""
    yield checked.unexpected(error, shown(value), f"{integers(error.node)}{advice}", "out-of-range")


def _wrong_format(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    rule = "quantity" if error.node.get("x-kind") == "quantity" else "wrong-format"
    if error.is_about_key:
        name = valid_name(error.names[0], error.node)
        hint = make_hint(Fix(f"write {name}", (Rename((*error.path, error.names[0]), name),))) if name else NO_HINT
    else:
        value = checked.value(error.path)
        name = "" if rule == "quantity" else valid_name(value, error.node)
        hint = _odd_space(value) or (write(error.path, name) if name else _as_quantity(error.path, value))
    yield checked.unexpected(error, _shown_text(checked, error), error.node["x-pattern-says"], rule, hint=hint)


def _refused(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    rule = error.node.get("x-not-rule", "wrong-format")
    yield checked.unexpected(error, _shown_text(checked, error), error.node["x-not-says"], rule)


def _too_long(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    long = error.names[0] if error.is_about_key else checked.value(error.path)
    requirement = f"at most {error.node['maxLength']} characters (the text has {len(long)})"
    yield checked.unexpected(error, _shown_text(checked, error), requirement, "too-long")


def _shown_text(checked: CheckedData, error: SchemaError) -> str:
    return f"the key {shown(error.names[0])}" if error.is_about_key else shown(checked.value(error.path))


def _wrong_number_of_entries(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    if error.node.get("maxProperties") == 1:
        yield from _not_exactly_one(checked, error)
    elif error.keyword.startswith("min"):
        requirement = f"one of {either(error.node['properties'])}" if "properties" in error.node else "one item"
        yield checked.unexpected(error, "none", f"at least {requirement}", "too-few")
    else:
        found = f"{len(checked.value(error.path))} entries"
        yield checked.unexpected(error, found, f"at most {error.node[error.keyword]}", "too-many", at_key=True)


def _not_exactly_one(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    possible = choices(error.node) if "oneOf" in error.node else list(error.node["properties"])
    present = [key for key in possible if key in checked.value(error.path)]
    requirement = f"exactly one of {either(possible)}"
    if checked.environment is not None and present:
        requirement += f"; the value null removes a key of the job, as in {present[0]}: null"
    found = either(present, "and") if present else "none"
    yield checked.unexpected(error, found, requirement, "exactly-one-of", at_key=True)


def _duplicate_item(checked: CheckedData, error: SchemaError) -> Iterator[Problem]:
    items = checked.value(error.path)
    index = next(index for index, item in enumerate(items) if item in items[:index])
    message = f"{checked.name(error.path)}: found {shown(items[index])} twice; remove one of the two items"
    yield checked.problem((*error.path, index), message, "duplicate-item")


_TRANSLATIONS: Mapping[str, Callable[[CheckedData, SchemaError], Iterator[Problem]]] = {
    "type": _wrong_type,
    "const": _wrong_constant,
    "enum": _not_allowed,
    "not": _refused,
    "pattern": _wrong_format,
    "maxLength": _too_long,
    "minimum": _out_of_range,
    "maximum": _out_of_range,
    "minItems": _wrong_number_of_entries,
    "maxItems": _wrong_number_of_entries,
    "uniqueItems": _duplicate_item,
    "additionalProperties": _unknown_key,
    "oneOf": _not_exactly_one,
    "minProperties": _wrong_number_of_entries,
    "maxProperties": _wrong_number_of_entries,
    "dependencies": _missing_companion,
    "required": _missing_key,
}
TRANSLATED_KEYWORDS = tuple(_TRANSLATIONS)
"""The keywords of JSON Schema that tfgen translates. tfgen reports only the first keyword that a value violates."""


def _other_kind(checked: CheckedData) -> Problem | None:
    """Return the problem of a document with a wrong `kind`, such as TFJob; None for the correct kind.

    tfgen reports no other problem of such a document.
    """
    kind = checked.data.get("kind") if isinstance(checked.data, dict) else None
    expected_kind = checked.schema["properties"]["kind"]["const"]
    if kind == expected_kind or not isinstance(kind, str):
        return None
    version = checked.data.get("apiVersion")
    is_importable = expected_kind == JOB_KIND and can_import(kind, version)
    if nearest(kind, [expected_kind]) and not is_importable:  # TrainJob looks like a misspelt TrainingJob
        return None
    of = f" of {shown(version)}" if isinstance(version, str) else ""
    message = f"found a document of kind {shown(kind)}{of}, expected kind {expected_kind} of tfgen/v1alpha1"
    if is_importable:
        message += f"; to convert the document to a job.yaml, run {command_line('import', checked.document.file)}"
    return checked.problem(("kind",), message, "wrong-kind")


def found_words(value: Any, text: str) -> str:
    """Return a value in words, such as "the number 1.50". `text` is the text of the scalar in the file."""
    if value is None:
        return text or "nothing"
    if isinstance(value, bool):
        return text
    if isinstance(value, (int, float)):
        return f"the number {text}"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    return "a mapping" if isinstance(value, dict) else "a list"


def hint_for_value(path: Path, value: Any, text: str, node: Schema) -> Hint:
    """Return a hint such as `; write 4` for a value of a wrong type; empty if the intention of the user is unclear.

    Args:
        path: the path of the value.
        value: the value in the job.
        text: the text of the value in the file; empty for a mapping or a list.
        node: the schema node that the value violates.
    """
    if isinstance(value, str):
        return _in_seconds(path, value, node) or _hint_for_text(path, value, json_types(node))
    if isinstance(value, (dict, list)):
        empty = next((_EMPTY[json_type] for json_type in json_types(node) if json_type in ("array", "object")), None)
        return write(path, empty) if empty and not value else NO_HINT
    if isinstance(value, float) and value.is_integer() and "integer" in json_types(node):
        return write(path, str(int(value)))
    if value is None:
        empty = _empty(node)
        return write(path, empty, end=" for an empty value") if empty and empty != _EMPTY["boolean"] else NO_HINT
    if "string" in json_types(node) and not _form(text, node):
        return make_hint(assignment(path, text, f"quote it: {shown(text)}"))
    return NO_HINT


_PUNCTUATION: Final = re.compile(r"[^\w. -]")
"""Characters that show that a text is not meant as a name, but for example as a path."""
_DURATION: Final = re.compile(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m(?:in)?)?(?:([0-9]{1,6})s)?")
_SECONDS: Final = (86_400, 3600, 60, 1)


def _empty(node: Schema) -> str:
    """Return the empty value that a schema node allows, as YAML text; an empty text if the node allows none."""
    empty = next((_EMPTY[json_type] for json_type in json_types(node) if json_type in _EMPTY), "")
    refuses_text = "" not in node.get("enum", [""]) or not re.search(node.get("pattern", ""), "")
    return "" if empty == _EMPTY["string"] and refuses_text else empty


def _in_seconds(path: Path, text: str, node: Schema) -> Hint:
    """Return the hint to write seconds, such as 7200 for `2h`, for a key whose value is in seconds."""
    duration = _DURATION.fullmatch(text)
    if not (text and duration and "integer" in json_types(node) and "econds" in node.get("description", "")):
        return NO_HINT
    seconds = sum(int(number or 0) * unit for number, unit in zip(duration.groups(), _SECONDS, strict=True))
    return write(path, str(seconds), end=", in seconds")


_AMOUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt])i?b?", re.IGNORECASE)


def check_name(name: str, kind: str) -> None:
    """Check that a name is a valid job name, according to the schema of job.yaml.

    Args:
        name: the name.
        kind: the noun for the error message, such as "job name".

    Raises:
        UsageError: the name is not valid.
    """
    node = schema_file.node(schema_file.load(), ("metadata", "name")) or {}
    if not re.fullmatch(node["pattern"], name) or len(name) > node["maxLength"]:
        rule = f"{node['x-pattern-says']}, at most {node['maxLength']} characters"
        near = valid_name(name, node)
        raise UsageError(f"{name!r} is not a valid {kind}: {rule}{f'; write {near}' if near else ''}")
    if name in node["not"]["enum"]:
        raise UsageError(f"{name!r} is not a valid {kind}: choose {node['x-not-says']}")


def valid_name(text: object, node: Schema) -> str:
    """Return a valid name for a text with upper-case letters or invalid characters; empty if no name is obvious.

    >>> valid_name("My_Mnist", {"pattern": "^[a-z][-a-z0-9]*$"})
    'my-mnist'
    """
    name = re.sub("[^a-z0-9]+", "-", str(text).lower()).strip("-")
    fits = re.search(node.get("pattern", ""), name) and len(name) <= node.get("maxLength", len(name))
    return name if fits and not _PUNCTUATION.search(str(text)) else ""


def _as_quantity(path: Path, text: object) -> Hint:
    """Return the hint to write a valid quantity, such as 4Gi for `4g`. Most users mean Gi, so Gi is first."""
    amount = _AMOUNT.fullmatch(str(text))
    if amount is None or quantity.is_quantity(text):
        return NO_HINT
    number, unit = amount[1], amount[2].upper()
    binary, decimal = write(path, f"{number}{unit}i"), write(path, f"{number}{unit.replace('K', 'k')}")
    words = f"{binary.text}, or {number}{unit.replace('K', 'k')} for powers of 1000"
    return Hint(words, (*binary.fixes, *decimal.fixes))


def _form(text: str, node: Schema) -> str:
    """Return the required format of a text in words, if the text violates the schema node; empty for a valid text."""
    if "enum" in node and text not in node["enum"]:
        return expected(node)
    fits = re.search(node.get("pattern", ""), text)
    return "" if fits else str(node["x-pattern-says"])


def _odd_space(text: object) -> Hint:
    """Return a hint if a key or a text contains a special space that looks like a normal space; else empty."""
    odd = find_odd_space(text) if isinstance(text, str) else NO_HINT
    return Hint(f"; {odd.text}", odd.fixes) if odd else NO_HINT


def _such_as(checked: CheckedData, error: SchemaError) -> str:
    """Return the end of a message with an example of the required mapping or list, such as ` such as [a, b]`."""
    node = schema_file.node(checked.schema, error.path) or {}
    if (
        checked.value(error.path) is None
        or "examples" not in node
        or not {"object", "array"}.issuperset(json_types(error.node))
    ):
        return ""
    example = shown(node["examples"][0])
    return "" if example.endswith("...") else f" such as {example}"


_EMPTY = {"string": '""', "object": "{}", "array": "[]", "boolean": "false"}
_TRUE, _FALSE = ("true", "yes", "on", "y"), ("false", "no", "off", "n")


def _hint_for_text(path: Path, value: str, allowed_types: list[str]) -> Hint:
    if "boolean" in allowed_types and value.lower() in _TRUE + _FALSE:
        return write(path, str(value.lower() in _TRUE).lower(), end=", without quotes")
    if "integer" not in allowed_types:
        return NO_HINT
    if re.fullmatch(r"0o?[0-7]{1,9}", value) and value != "0":
        return write(path, str(int(value.replace("o", ""), 8)), end=f", which is octal {value} in decimal")
    is_number = re.fullmatch(r"[1-9][0-9]*|0", value)
    return make_hint(assignment(path, int(value), "write it without quotes")) if is_number else NO_HINT

"""What a validator finds, said to a human: what was found, what is allowed, what was probably meant.

    Finding(("spec", "port"), "maximum", {"type": "integer", "minimum": 1, "maximum": 65535}, ())
    job.yaml:9:9: spec.port: found 70000, expected an integer from 1 to 65535 [out-of-range]

One mistake gives one problem: a key that is misspelt is not reported as missing too, and a value that breaks two
constraints breaks the first.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from tfgen import data_path
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.habits import flow, instead
from tfgen.schema.hints import choices, expected, hint_for_key, integers, json_types
from tfgen.words import NEAR, either, meant, nearest, path_name, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from tfgen.data_path import Path
    from tfgen.schema.file import Schema
    from tfgen.text.document import Document

RULES: Mapping[str, str] = {
    "duplicate-item": "A list whose items differ has the same item twice.",
    "exactly-one-of": "A mapping has none, or several, of the keys of which it needs exactly one.",
    "missing-key": "A key that must be there is not.",
    "not-allowed": "A value is not one of the few that are allowed.",
    "not-tunable": "An environment sets what must be the same in every environment.",
    "nothing-to-remove": "An environment removes, by null, what the job does not have.",
    "out-of-range": "A number is too small or too large.",
    "quantity": "An amount is not written as Kubernetes writes amounts.",
    "reserved-name": "A name is one that tfgen uses itself.",
    "too-few": "A list or mapping has too few items.",
    "too-long": "A text is too long.",
    "too-many": "A list or mapping has too many entries.",
    "unknown-key": "A key is not one that the job schema knows.",
    "wrong-format": "A text, or a mapping, does not have the form that its key needs.",
    "wrong-kind": "The document is not of the kind that its file is to have: a TrainingJob, or Defaults in tfgen.yaml.",
    "wrong-type": "A value is of another type than its key needs.",
}
"""The ids of the problems that the schema finds, and what each is about."""

MOST = 100
"""Problems of a document; more help nobody, and each costs a search for the nearest name."""


class Finding(Record):
    """A keyword of the schema that a value breaks.

    Attributes:
        path: of the value; of the mapping for what is said of its keys.
        node: the part of the schema that has the keyword.
        names: the unknown keys, the missing key, or the key that is wrong.
        of_key: whether the keyword is about the key `names[0]` itself, and not about the value.
    """

    path: Path
    keyword: str
    node: Schema
    names: tuple[str, ...]
    of_key: bool = False


class View(Record):
    """The data that was checked, and where it is written.

    Attributes:
        data: the document's, or the job's with the environment merged over it.
        schema: what it is checked by.
        environment: its name, for merged data: the spec is then looked up in the environment.
    """

    document: Document
    data: Any
    schema: Schema
    environment: str | None = None

    def written(self, path: Path) -> Path:
        """The path at which the user wrote (or would write) what the data has at `path`."""
        if self.environment is None or path[:1] != ("spec",):
            return path
        return ("spec", "environments", self.environment, *path[1:])

    def value(self, path: Path) -> Any:
        """What the data has at the path."""
        return data_path.follow(self.data, path)

    def text(self, path: Path) -> str | None:
        """A scalar as it was written."""
        return self.document.text(self.written(path))

    def problem(self, path: Path, message: str, rule: str, *, at_key: bool = False) -> Problem:
        """A problem at the value (or the key) of the path."""
        place = self.document.key if at_key else self.document.value
        written = self.written(path)
        return Problem(self.document.source(written), place(written), message, rule)

    def name(self, path: Path) -> str:
        """The path as messages show it."""
        return path_name(self.written(path))


def translate(view: View, findings: Iterable[Finding]) -> Iterator[Problem]:
    """One problem for each mistake, up to `MOST` of them."""
    other = _other_kind(view)
    if other is not None:
        yield other
        return
    problems = (problem for finding in _without_echoes(findings) for problem in _SAY[finding.keyword](view, finding))
    yield from islice(problems, MOST)


def missing_section(document: Document, environment: str, section: tuple[str, ...]) -> Problem:
    """The environment changes a section that the job does not have."""
    path = ("spec", "environments", environment, *section)
    *_, name = section
    message = (
        f"the job has no {shown(name)} that {path_name(path[:3])} could change; "
        f"write {path_name(('spec', *section))} first, or remove this"
    )
    return Problem(document.source(path), document.key(path), message, "not-tunable")


def _without_echoes(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, but for those that only follow from another."""
    ordered = sorted(findings, key=lambda finding: SAID.index(finding.keyword))
    unknown: dict[Path, set[str]] = {}
    for finding in ordered:
        if finding.keyword == "additionalProperties" or (finding.of_key and finding.keyword == "enum"):
            unknown.setdefault(finding.path, set()).update(finding.names)
    reported: set[tuple[Path, tuple[str, ...]]] = set()
    for finding in ordered:
        subject = (finding.path, finding.names)
        if subject not in reported and not _follows(finding, unknown, reported):
            reported.add(subject)
            yield finding


def _follows(
    finding: Finding, unknown: Mapping[Path, Collection[str]], reported: Collection[tuple[Path, tuple[str, ...]]]
) -> bool:
    """Whether a finding follows from an unknown key, or from a choice that was not made."""
    path = finding.path
    if any(path[end] in unknown.get(path[:end], ()) for end in range(len(path))):
        return True
    misspelt = unknown.get(path, ())
    if finding.keyword == "required":
        return any(nearest(name, finding.names) for name in misspelt)
    if finding.keyword == "dependencies" and (path, ()) in reported:
        return True
    return bool(misspelt) and finding.keyword in ("not", "oneOf", "minProperties", "maxProperties", "dependencies")


def _unknown_key(view: View, finding: Finding) -> Iterator[Problem]:
    for key in finding.names:
        path = (*finding.path, key)
        if not finding.of_key and _is_in_spec(view.schema, path):
            yield _not_tunable(view, path)
        else:
            owner = {"propertyNames": finding.node} if finding.of_key else finding.node
            hint = _instead(view, path) or hint_for_key(key, owner, view.schema, finding.path)
            message = f"unknown key {shown(key)} in {view.name(finding.path)}{hint}"
            yield view.problem(path, message, "unknown-key", at_key=True)


def _instead(view: View, path: Path) -> str:
    """What to write in the place of a habit from Kubernetes."""
    return instead(path, view.value(path))


def _not_tunable(view: View, path: Path) -> Problem:
    environment, inside = path_name(path[:3]), path[3:]
    message = (
        f"{path_name(inside)} must be the same in every environment; "
        f"set {path_name(('spec', *inside))}, or make {environment} a job of its own"
    )
    return view.problem(path, message, "not-tunable", at_key=True)


def _is_in_spec(schema: Schema, path: Path) -> bool:
    """Whether the path of an environment is one that the spec knows."""
    inside = path[:2] == ("spec", "environments") and len(path) > 3
    return inside and schema_file.node(schema, ("spec", *path[3:])) is not None


def _missing_key(view: View, finding: Finding) -> Iterator[Problem]:
    (name,) = finding.names
    node = schema_file.resolve(view.schema, finding.node["properties"][name])
    message = f"missing key {shown(name)} in {view.name(finding.path)}: {schema_file.first_sentence(node)}"
    yield view.problem(finding.path, message.rstrip("."), "missing-key", at_key=True)


def _missing_companion(view: View, finding: Finding) -> Iterator[Problem]:
    (name,) = finding.names
    needing = [key for key in view.value(finding.path) if name in finding.node["dependencies"].get(key, ())]
    message = f"{view.name((*finding.path, needing[0]))}: needs {shown(name)} beside it"
    yield view.problem((*finding.path, needing[0]), message, "missing-key", at_key=True)


def _wrong_type(view: View, finding: Finding) -> Iterator[Problem]:
    value = view.value(finding.path)
    if value is None and view.environment is not None:
        message = f"{view.name(finding.path)}: null removes nothing, for the job has no {path_name(finding.path)}"
        yield view.problem(finding.path, message, "nothing-to-remove")
        return
    text = view.text(finding.path) or ""
    hint = _instead(view, finding.path) if json_types(finding.node) == ["object"] else ""
    hint = hint or _as_only_key(value, finding.node)
    wanted = expected(finding.node) + ("" if hint else _such_as(view, finding))
    if not isinstance(value, (str, bool)) and text and "string" in json_types(finding.node):
        wanted = _form(text, finding.node) or wanted
    message = f"{view.name(finding.path)}: found {found_words(value, text)}, expected {wanted}"
    yield view.problem(finding.path, message + (hint or hint_for_value(value, text, finding.node)), "wrong-type")


def _wrong_constant(view: View, finding: Finding) -> Iterator[Problem]:
    words = found_words(view.value(finding.path), view.text(finding.path) or "")
    message = f"{view.name(finding.path)}: found {words}, expected {finding.node['const']}"
    yield view.problem(finding.path, message, "wrong-kind")


def _not_allowed(view: View, finding: Finding) -> Iterator[Problem]:
    if finding.of_key:
        yield from _unknown_key(view, finding)
        return
    value = view.value(finding.path)
    message = f"{view.name(finding.path)}: found {shown(value)}, expected {expected(finding.node)}"
    yield view.problem(finding.path, message + meant(nearest(value, finding.node["enum"], NEAR)), "not-allowed")


def _out_of_range(view: View, finding: Finding) -> Iterator[Problem]:
    value = view.value(finding.path)
    message = f"{view.name(finding.path)}: found {shown(value)}, expected {integers(finding.node)}"
    if "string" in json_types(finding.node) and value > 0:
        message += f'; quote a larger one: "{value}"'
    yield view.problem(finding.path, message, "out-of-range")


def _wrong_format(view: View, finding: Finding) -> Iterator[Problem]:
    rule = "quantity" if finding.node.get("x-kind") == "quantity" else "wrong-format"
    yield _wrong_text(view, finding, finding.node["x-pattern-says"], rule)


def _refused(view: View, finding: Finding) -> Iterator[Problem]:
    yield _wrong_text(view, finding, finding.node["x-not-says"], finding.node.get("x-not-rule", "wrong-format"))


def _wrong_text(view: View, finding: Finding, wanted: str, rule: str) -> Problem:
    if finding.of_key:
        (key,) = finding.names
        message = f"{view.name(finding.path)}: found the key {shown(key)}, expected {wanted}"
        return view.problem((*finding.path, key), message, rule, at_key=True)
    message = f"{view.name(finding.path)}: found {shown(view.value(finding.path))}, expected {wanted}"
    return view.problem(finding.path, message, rule)


def _too_long(view: View, finding: Finding) -> Iterator[Problem]:
    long = finding.names[0] if finding.of_key else view.value(finding.path)
    wanted = f"at most {finding.node['maxLength']} characters (it has {len(long)})"
    yield _wrong_text(view, finding, wanted, "too-long")


def _too_few(view: View, finding: Finding) -> Iterator[Problem]:
    if finding.node.get("maxProperties") == 1:
        yield from _not_exactly_one(view, finding)
        return
    wanted = f"one of {either(finding.node['properties'])}" if "properties" in finding.node else "one item"
    yield view.problem(finding.path, f"{view.name(finding.path)}: found none, expected at least {wanted}", "too-few")


def _too_many(view: View, finding: Finding) -> Iterator[Problem]:
    if finding.node.get("maxProperties") == 1:
        yield from _not_exactly_one(view, finding)
        return
    most, count = finding.node[finding.keyword], len(view.value(finding.path))
    message = f"{view.name(finding.path)}: found {count}, expected at most {most}"
    yield view.problem(finding.path, message, "too-many", at_key=True)


def _not_exactly_one(view: View, finding: Finding) -> Iterator[Problem]:
    possible = choices(finding.node) if "oneOf" in finding.node else list(finding.node["properties"])
    present = [key for key in possible if key in view.value(finding.path)]
    words = either(present, "and") if present else "none"
    message = f"{view.name(finding.path)}: found {words}, expected exactly one of {either(possible)}"
    if view.environment is not None and present:
        message += f"; null removes what the job has, as in {present[0]}: null"
    yield view.problem(finding.path, message, "exactly-one-of", at_key=True)


def _duplicate_item(view: View, finding: Finding) -> Iterator[Problem]:
    items = view.value(finding.path)
    index = next(index for index, item in enumerate(items) if item in items[:index])
    message = f"{view.name(finding.path)}: found {shown(items[index])} twice"
    yield view.problem((*finding.path, index), message, "duplicate-item")


_SAY: Mapping[str, Callable[[View, Finding], Iterator[Problem]]] = {
    "type": _wrong_type,
    "const": _wrong_constant,
    "enum": _not_allowed,
    "not": _refused,
    "pattern": _wrong_format,
    "maxLength": _too_long,
    "minimum": _out_of_range,
    "maximum": _out_of_range,
    "minItems": _too_few,
    "maxItems": _too_many,
    "uniqueItems": _duplicate_item,
    "additionalProperties": _unknown_key,
    "oneOf": _not_exactly_one,
    "minProperties": _too_few,
    "maxProperties": _too_many,
    "dependencies": _missing_companion,
    "required": _missing_key,
}
SAID = tuple(_SAY)
"""The keywords that the schema may use. Of several that one value breaks, the first is said."""


def _other_kind(view: View) -> Problem | None:
    """The one problem of a document of another kind, in which nothing else is worth saying."""
    kind = view.data.get("kind") if isinstance(view.data, dict) else None
    wanted = view.schema["properties"]["kind"]["const"]
    if kind == wanted or not isinstance(kind, str) or nearest(kind, [wanted]):
        return None
    version = view.data.get("apiVersion")
    of = f" of {shown(version)}" if isinstance(version, str) else ""
    message = f"found a document of kind {shown(kind)}{of}, expected kind {wanted} of tfgen/v1alpha1"
    return view.problem(("kind",), message, "wrong-kind")


def found_words(value: Any, text: str) -> str:
    """What a value is, given the text of it if it is a scalar."""
    if value is None:
        return text or "nothing"
    if isinstance(value, bool):
        return text
    if isinstance(value, (int, float)):
        return f"the number {text}"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    return "a mapping" if isinstance(value, dict) else "a list"


def hint_for_value(value: Any, text: str, node: Schema) -> str:
    """How to write what was meant, where that is plain."""
    if isinstance(value, str):
        return _hint_for_text(value, json_types(node))
    if isinstance(value, (dict, list)):
        return ""
    if isinstance(value, float) and value.is_integer() and "integer" in json_types(node):
        return f"; write {int(value)}"
    if value is None:
        empty = next((_EMPTY[json_type] for json_type in json_types(node) if json_type in _EMPTY), None)
        return f"; write {empty} for an empty one" if empty else ""
    return f'; quote it: "{text}"' if "string" in json_types(node) and not _form(text, node) else ""


def _form(text: str, node: Schema) -> str:
    """What a text must be, where this one is not that."""
    if "enum" in node and text not in node["enum"]:
        return expected(node)
    fits = re.search(node.get("pattern", ""), text)
    return "" if fits else str(node["x-pattern-says"])


def _as_only_key(value: Any, node: Schema) -> str:
    """`{name: hub}` for `hub`, where a mapping needs one key only."""
    needed = node.get("required", ())
    if not isinstance(value, str) or json_types(node) != ["object"] or len(needed) != 1:
        return ""
    return f"; write {flow({needed[0]: value})}"


def _such_as(view: View, finding: Finding) -> str:
    """The example of a key that takes nothing that can be told in a word."""
    node = schema_file.node(view.schema, finding.path) or {}
    if (
        view.value(finding.path) is None
        or "examples" not in node
        or not {"object", "array"}.issuperset(json_types(finding.node))
    ):
        return ""
    example = shown(node["examples"][0])
    return "" if example.endswith("...") else f" such as {example}"


_EMPTY = {"string": '""', "object": "{}", "array": "[]"}
_TRUE, _FALSE = ("true", "yes", "on", "y"), ("false", "no", "off", "n")


def _hint_for_text(value: str, allowed_types: list[str]) -> str:
    if "boolean" in allowed_types and value.lower() in _TRUE + _FALSE:
        return f"; write {str(value.lower() in _TRUE).lower()}, without quotes"
    if "integer" not in allowed_types:
        return ""
    if re.fullmatch(r"0o?[0-7]{1,9}", value) and value != "0":
        return f"; write {int(value.replace('o', ''), 8)}, which is octal {value} in decimal"
    return "; write it without quotes" if re.fullmatch(r"[1-9][0-9]*|0", value) else ""

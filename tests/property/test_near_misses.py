"""Documents with one mistake: tfgen reports exactly one problem, with the correct rule and position.

Each mutant is a valid document that breaks one constraint of the schema. `jsonschema`, the reference implementation,
must find each mistake, and must find the same errors as the fast validator.

The test does not check these constraints:
- `pattern` of free text: only characters that the document reader has already refused can break the pattern.
- bounds of 2**53 - 1: the document reader refuses such integers.
- the second constraint that a value breaks: tfgen reports only the first one by design.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.draws import drawn
from tests.support.everything import EVERYTHING
from tests.support.generated import document, jobs
from tfgen.schema import validate as schema
from tfgen.schema.file import entry, load, resolve
from tfgen.schema.hints import choices, json_types
from tfgen.schema.messages import TRANSLATED_KEYWORDS
from tfgen.text.yaml_text import find_forbidden_character
from tfgen.words import path_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfgen.data_path import Path
    from tfgen.schema.file import Schema

SMALLEST = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "a"},
    "spec": {"roles": {"chief": {}}},
}


class Mutant(NamedTuple):
    """A document with one mistake, and the problem that it should have."""

    name: str
    data: Any
    rule: str
    path: Path
    at_key: bool


def mutants(data: Any) -> Iterator[Mutant]:
    """Yield a mutant for every known way to break one constraint of the document."""
    for path, value, node in walk(data, (), load()):
        for name, broken, rule, below, at_key in breaks(path, value, node):
            mutant = replaced(around(data, path), path, broken)
            yield Mutant(f"{path_name(path)} {name}", mutant, rule, (*path, *below), at_key)


def around(data: Any, path: Path) -> Any:
    """Return the document with only the keys of the spec that a mistake at the path needs, for a faster check.

    An environment needs the whole job.
    """
    if len(path) < 2 or path[0] != "spec" or path[1] == "environments":
        return data
    return {**data, "spec": {"roles": {"chief": {}}, path[1]: data["spec"][path[1]]}}


def walk(value: Any, path: Path, node: Schema) -> Iterator[tuple[Path, Any, Schema]]:
    """Yield each value of a document with its resolved node of the schema."""
    yield path, value, node
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found = entry(load(), node, key)
        if found is not None:
            yield from walk(item, (*path, key), found)


def replaced(data: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    changed = copy.copy(data)
    changed[path[0]] = replaced(data[path[0]], path[1:], value)
    return changed


Break = tuple[str, Any, str, "Path", bool]
"""The name of the constraint, the broken value, the rule, the path of the problem below the value, and a flag.

The flag is true if the position of the problem is the key.
"""


def breaks(path: Path, value: Any, node: Schema) -> Iterator[Break]:
    if "const" in node:
        yield "const", "TrainingJobs", "wrong-kind", (), False
    elif "type" in node:
        yield from wrong_types(node)
    if "enum" in node:
        yield "enum", "no-such-choice", "not-allowed", (), False
    if isinstance(value, str) and "pattern" in node:
        yield from wrong_texts(node)
    if "minimum" in node and abs(node["maximum"]) < 2**53 - 1:
        yield "minimum", node["minimum"] - 1, "out-of-range", (), False
        yield "maximum", node["maximum"] + 1, "out-of-range", (), False
    if isinstance(value, list):
        yield from wrong_lists(value, node)
    if isinstance(value, dict):
        yield from wrong_keys(path, value, node)
        yield from wrong_names(value, node)


def wrong_types(node: Schema) -> Iterator[Break]:
    kinds = {"null": None, "boolean": True, "integer": 7, "fraction": 2.0, "string": "text", "array": [], "object": {}}
    allowed = {*json_types(node), *(("integer", "fraction") if "number" in json_types(node) else ())}
    for kind, other in kinds.items():
        if kind not in allowed:
            yield f"type {kind}", other, "wrong-type", (), False


_NOT_ALLOWED = ("- ? -", "/: x", "a\nb", "")


def wrong_texts(node: Schema) -> Iterator[Break]:
    rule = "quantity" if node.get("x-kind") == "quantity" else "wrong-format"
    is_free = node["pattern"] == load()["definitions"]["text"]["pattern"]
    if not is_free:
        yield "pattern", next(text for text in _NOT_ALLOWED if not matches(node, text)), rule, (), False
    if "maxLength" in node:
        starts = ("a", "/", "1", "metadata.labels['")
        long = (start + "1" * node["maxLength"] for start in starts)
        yield from (("maxLength", text, "too-long", (), False) for text in long if matches(node, text))
    if "not" in node:
        texts = node["not"].get("enum", ("a/../b", "<no value>", "/<no value>", "system-a", "tfgen/x", "PodList"))
        forbidden = node["not"].get("anyOf", [node["not"]])
        refused = (text for text in texts if matches(node, text) and any(matches(one, text) for one in forbidden))
        yield "not", next(refused), node.get("x-not-rule", "wrong-format"), (), False


def matches(node: Schema, text: str) -> bool:
    return re.search(node.get("pattern", "").replace("$", r"\Z"), text) is not None


def wrong_lists(value: list[Any], node: Schema) -> Iterator[Break]:
    if "minItems" in node:
        yield "minItems", [], "too-few", (), False
    if "maxItems" in node:
        item = value[0] if value else "a"
        yield "maxItems", [f"{item}{number}" for number in range(node["maxItems"] + 1)], "too-many", (), True
    if node.get("uniqueItems") and value:
        yield "uniqueItems", [*value, value[0]], "duplicate-item", (len(value),), False


def wrong_keys(path: Path, value: dict[str, Any], node: Schema) -> Iterator[Break]:
    for key in node.get("required", ()):
        yield f"required {key}", without(value, key), "missing-key", (), True
    if node.get("additionalProperties") is False:
        yield "unknown", {**value, "noSuchKey": {}}, "unknown-key", ("noSuchKey",), True
        for key in value:
            # A misspelled key is one mistake, although the correct key is missing.
            yield f"misspelt {key}", {**without(value, key), f"{key}x": value[key]}, "unknown-key", (f"{key}x",), True
    if path[:2] == ("spec", "environments") and len(path) == 3:
        yield "not tunable", {**value, "port": 1}, "not-tunable", ("port",), True
    if "oneOf" in node or node.get("maxProperties") == 1:
        keys = choices(node) if "oneOf" in node else list(node["properties"])
        yield "none of", without(value, *keys), "exactly-one-of", (), True
        for key in keys:
            example = resolve(load(), node["properties"][key])["examples"][0]
            if key not in value:
                yield f"also {key}", {**value, key: example}, "exactly-one-of", (), True
    elif "maxProperties" in node:
        item = next(iter(value.values()), {})  # an item without another mistake
        yield "many", {f"e{i}": item for i in range(node["maxProperties"] + 1)}, "too-many", (), True
    elif "minProperties" in node:
        yield "minProperties", {}, "too-few", (), False
    for key, needed in node.get("dependencies", {}).items():
        if needed[0] not in value:
            example = resolve(load(), node["properties"][key])["examples"][0]
            yield f"lonely {key}", {**value, key: example}, "missing-key", (key,), True


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: inner for key, inner in value.items() if key not in keys}


def wrong_names(value: dict[str, Any], node: Schema) -> Iterator[Break]:
    """Yield maps with an invalid name of an entry, whose value is the value of another entry."""
    if "propertyNames" not in node or not value:
        return
    names, (other, *_) = resolve(load(), node["propertyNames"]), value.values()
    if "enum" in names:
        yield "key enum", {**value, "noSuchKey": other}, "unknown-key", ("noSuchKey",), True
        return
    for what, key, rule, _, _ in wrong_texts(names):
        yield f"key {what}", {**value, key: other}, rule, (key,), True


def reference() -> jsonschema.Draft7Validator:
    """Return the validator of jsonschema that reads the schema as Go, Rust and tfgen read the schema.

    Python's `$` also matches before a final line end, and draft-07 accepts 2.0 as an integer, which tfgen would print
    as 2.0.
    """

    def anchored(found: Any) -> Any:
        if isinstance(found, list):
            return [anchored(item) for item in found]
        if not isinstance(found, dict):
            return found
        return {
            key: value.replace("$", r"\Z") if key == "pattern" and isinstance(value, str) else anchored(value)
            for key, value in found.items()
        }

    checker = jsonschema.Draft7Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    strict = jsonschema.validators.extend(jsonschema.Draft7Validator, type_checker=checker)
    return strict(anchored(load()))


REFERENCE = reference()
ONCE_BROKEN = list(mutants(EVERYTHING))


def found_by_reference(data: Any) -> set[tuple[Path, str]]:
    return {(tuple(error.absolute_path), error.validator) for error in REFERENCE.iter_errors(data)}


def found(data: Any) -> set[tuple[Path, str]]:
    return {(finding.path, finding.keyword) for finding in schema.schema_errors(data)}


def check_mutant(mutant: Mutant, *, by_reference: bool = True) -> None:
    """Check that tfgen reports a mutant with the expected rule, and that the reference finds the same errors."""
    assert found(mutant.data), f"{mutant.name} breaks nothing"
    if by_reference:
        assert found(mutant.data) == found_by_reference(mutant.data), mutant.name
    checked = document(mutant.data)
    position = (checked.key if mutant.at_key else checked.value)(mutant.path)
    problems = [(problem.rule, problem.position) for problem in schema.check(checked)]
    assert problems == [(mutant.rule, position)], (mutant.name, schema.check(checked))


@pytest.mark.long
@pytest.mark.parametrize("interval", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_each_mistake_is_one_problem_in_a_job_with_everything(interval):
    """The reference checks every fifth mistake, because the reference takes most of the time."""
    assert schema.check(document(EVERYTHING)) == ()
    for number, mutant in enumerate(ONCE_BROKEN):
        check_mutant(mutant, by_reference=number % interval == 0)
    # A mutant breaks each keyword that has a message. Some mutants have another name for the keyword.
    told = {word for mutant in ONCE_BROKEN for word in mutant.name.split()}
    renamed = {"oneOf": "none", "maxProperties": "also", "additionalProperties": "unknown", "dependencies": "lonely"}
    assert [keyword for keyword in TRANSLATED_KEYWORDS if renamed.get(keyword, keyword) not in told] == []


def test_each_mistake_is_one_problem_in_the_smallest_job():
    assert schema.check(document(SMALLEST)) == ()
    smallest = list(mutants(SMALLEST))
    assert len(smallest) > 50
    for mutant in smallest:
        check_mutant(mutant)


@pytest.mark.long
@drawn(10)
@given(jobs())
def test_job_from_the_schema_has_no_problem(data):
    assert found_by_reference(data) == set()
    assert schema.check(document(data)) == ()


@pytest.mark.long
@drawn(20)
@given(st.data())
def test_each_mistake_in_a_job_from_the_schema_is_one_problem(data):
    candidates = list(mutants(data.draw(jobs())))
    check_mutant(data.draw(st.sampled_from(candidates)))


@pytest.mark.long
@drawn(20)
@given(st.data())
def test_any_two_mistakes_are_the_same_to_both_validators(data):
    """The verdict, the paths and the keywords are equal. tfgen may print fewer messages."""
    first = data.draw(st.sampled_from(ONCE_BROKEN))
    second = data.draw(st.sampled_from(list(mutants(first.data))))
    assert found(second.data) == found_by_reference(second.data)


def test_free_text_has_the_characters_that_the_reader_accepts():
    """The pattern of text accepts exactly the characters that the document reader accepts."""
    pattern = re.compile(load()["definitions"]["text"]["pattern"].replace("$", r"\Z"))
    surrogates = range(0xD800, 0xE000)  # missing in the pattern, because Go cannot express them
    everything = [chr(code) for code in range(0x110000) if code not in surrogates]
    assert [c for c in everything if not pattern.match(c)] == [c for c in everything if find_forbidden_character(c)]

"""Jobs drawn from the job schema: data that it allows, odd text and all.

    @given(jobs())
    def test_something(data): ...          # data["spec"]["roles"] ...

hypothesis-jsonschema 0.23 fails with hypothesis 6.170 (`'many' object has no attribute 'more'`), and never knew
recursive schemas; the job schema needs few keywords.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tfgen import schema
from tfgen.document import Document, parse
from tfgen.schema_file import load, node, resolve
from tfgen.schema_words import choices, json_types
from tfgen.yaml_text import dump

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tfgen.schema_file import Schema

DEPTH = 3
"""Levels of Kubernetes' own structures, whose schema has no end."""


def document(data: Any) -> Document:
    """The data as the reader gives it, with positions. What YAML cannot say is an error."""
    parsed = parse(dump(data), "job.yaml")
    assert not parsed.problems, parsed.problems
    (found,) = parsed.documents
    assert found.data == data
    return found


@st.composite
def jobs(draw: DrawFn) -> dict[str, Any]:
    """Documents without a problem. An environment that cannot be merged over its job is left out."""
    data = draw(allowed((), without=("environments",)))
    environments = draw(st.dictionaries(st.sampled_from(["dev", "prod"]), allowed(("spec", "environments", "x"))))
    kept = {name: said for name, said in environments.items() if not schema.check(document(_with(data, {name: said})))}
    return _with(data, kept) if kept else data


def _with(data: dict[str, Any], environments: dict[str, Any]) -> dict[str, Any]:
    return {**data, "spec": {**data["spec"], "environments": environments}}


@functools.cache
def allowed(path: tuple[str, ...], without: tuple[str, ...] = ()) -> SearchStrategy[Any]:
    """Values for a path of the document: `("spec", "roles", "worker", "replicas")`."""
    found = node(load(), path)
    assert found is not None, path
    return _values(found, DEPTH, without)


def _values(written: Schema, depth: int, without: Sequence[str] = ()) -> SearchStrategy[Any]:
    found = resolve(load(), written)
    if "const" in found:
        return st.just(found["const"])
    if "enum" in found:
        return st.sampled_from(found["enum"])
    kinds = [kind for kind in json_types(found) if depth or kind not in ("object", "array")]
    return st.one_of([_of_type(kind, found, depth, without) for kind in kinds])


def _of_type(kind: str, found: Schema, depth: int, without: Sequence[str]) -> SearchStrategy[Any]:
    match kind:
        case "string":
            return _text(found)
        case "integer":
            return st.integers(found["minimum"], found["maximum"])
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            items = _values(found["items"], depth - _is_open(found))
            return st.lists(
                items, min_size=found.get("minItems", 0), max_size=3, unique=found.get("uniqueItems", False)
            )
        case _:
            return _record(found, without) if "properties" in found else _map(found, depth)


def _is_open(found: Schema) -> bool:
    return isinstance(found.get("additionalProperties"), dict) and "items" in found


def _text(found: Schema) -> SearchStrategy[str]:
    refused = found.get("not", {})
    longest = found.get("maxLength", 200)
    # Without the anchors, and as a full match: Python's $ would let a line end follow.
    pattern = re.compile(found["pattern"].removeprefix("^").removesuffix("$"))
    texts = st.from_regex(pattern, fullmatch=True, alphabet=st.characters(codec="utf-8"))
    return texts.filter(
        lambda text: (
            len(text) <= longest
            and text not in refused.get("enum", ())
            and not ("pattern" in refused and re.search(refused["pattern"], text))
        )
    )


def _map(found: Schema, depth: int) -> SearchStrategy[dict[str, Any]]:
    names = resolve(load(), found["propertyNames"])
    keys = st.sampled_from(names["enum"]) if "enum" in names else _text(names)
    values = st.deferred(lambda: _values(found["additionalProperties"], depth - _is_open(found)))
    return st.dictionaries(keys, values, min_size=found.get("minProperties", 0), max_size=2)


def _record(found: Schema, without: Sequence[str]) -> SearchStrategy[dict[str, Any]]:
    properties = {
        key: st.deferred(lambda v=value: _values(v, DEPTH, without))
        for key, value in found["properties"].items()
        if key not in without
    }
    one_of = choices(found) if "oneOf" in found else []
    if found.get("maxProperties") == 1:
        one_of = list(properties)

    @st.composite
    def records(draw: DrawFn) -> dict[str, Any]:
        keys = set(found.get("required", ()))
        keys |= {draw(st.sampled_from(one_of))} if one_of else set()
        optional = [key for key in properties if key not in one_of and key not in keys]
        if optional:
            least = max(0, found.get("minProperties", 0) - len(keys))
            keys |= draw(st.sets(st.sampled_from(optional), min_size=least, max_size=5))
        for key, needs in found.get("dependencies", {}).items():
            keys -= {key} if not keys.issuperset(needs) else set()
        return {key: draw(properties[key]) for key in properties if key in keys}

    return records()

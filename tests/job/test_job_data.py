"""Tests that the types of a job's data have exactly the keys and the types of the schema."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tfgen.job import choices, job_data
from tfgen.schema import file as schema_file
from tfgen.schema.workload_kinds import facts

ONLY_FOR_CHECKERS = {name: vars(choices)[name] for name in ("Output", "Profile", "RoleName", "Scheduler", "Strategy")}
vars(job_data).update(ONLY_FOR_CHECKERS, CompletionBy=facts.CompletionBy)
JSON_TYPES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    Mapping: "object",
    Sequence: "array",
    type(None): "null",
}


def records(record: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield each record of a job's data with its path. The path has `worker` for roles, and NAME for other map keys."""
    yield record, path
    for key, hint in hints(record).items():
        if typing.is_typeddict(hint):
            yield from records(hint, (*path, key))
        elif typing.get_origin(hint) is Mapping and typing.is_typeddict(inner := typing.get_args(hint)[1]):
            yield from records(inner, (*path, key, "worker" if key == "roles" else "NAME"))


def hints(record: Any) -> dict[str, Any]:
    return typing.get_type_hints(record)


def json_types(hint: Any) -> set[str]:
    """Return the JSON types of the values of a Python type."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return {JSON_TYPES[type(value)] for value in typing.get_args(hint)}
    if origin in (typing.Union, types.UnionType):
        return set().union(*map(json_types, typing.get_args(hint)))
    return {"object" if typing.is_typeddict(hint) else JSON_TYPES[origin or hint]}


RECORDS = [*records(job_data.JobData, ())]


@pytest.mark.parametrize(("record", "path"), RECORDS, ids=[".".join(path) or "job" for _, path in RECORDS])
def test_a_record_has_the_keys_of_the_schema(record: Any, path: tuple[str, ...]) -> None:
    node = schema_file.node(schema_file.load(), path)
    known = set(hints(record))
    if path[:2] == ("spec", "environments") and len(path) > 3:  # an environment may have fewer keys than the job
        assert known >= set(node["properties"] if node else ())
        return
    assert node is not None
    assert known == set(node["properties"])
    assert record.__required_keys__ <= set(node.get("required", known))


@pytest.mark.parametrize(("record", "path"), RECORDS, ids=[".".join(path) or "job" for _, path in RECORDS])
def test_a_value_has_the_type_of_the_schema(record: Any, path: tuple[str, ...]) -> None:
    schema = schema_file.load()
    for key, hint in hints(record).items():
        node = schema_file.node(schema, (*path, key))
        if node is not None:
            types_of_node = node.get("type", "string")
            expected = {types_of_node} if isinstance(types_of_node, str) else set(types_of_node)
            assert json_types(hint) >= expected - {"null"}, key
            assert json_types(hint) <= expected | {"null"}, key


def test_a_type_that_is_none_of_the_schema_is_seen() -> None:
    assert json_types(str | int) == {"string", "integer"}
    assert json_types(typing.Literal["a"]) == {"string"}
    assert json_types(Mapping[str, str]) == {"object"}

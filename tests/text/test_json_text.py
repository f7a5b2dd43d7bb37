"""Tests of the JSON text for digests, which equals the text of Go, and of the JSON text for people.

tests/equal/test_graphs.py compares the text for digests with Helm. The text for people has the same data in lines of
limited length.
"""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfgen.text.yaml_text import WIDTH, canonical, digest, json_lines

SCALAR = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
NAME = st.text('abc é"', max_size=6) | st.just("properties")
DATA = st.recursive(
    SCALAR, lambda part: st.lists(part, max_size=9) | st.dictionaries(NAME, part, max_size=9), max_leaves=30
)


@given(DATA)
def test_it_is_the_same_data_in_the_same_order(data):
    text = json_lines(data, listings=["properties"])
    assert json.dumps(json.loads(text)) == json.dumps(data)
    assert text.endswith("\n")


@given(DATA)
def test_a_line_is_too_long_only_where_one_word_is(data):
    for line in json_lines(data, listings=["properties"]).splitlines():
        assert len(line) <= WIDTH or len(line.split(", ")) == 1, line


def test_what_fits_stands_in_one_line():
    assert json_lines({"type": "string", "examples": ["2", "é"]}) == '{"type": "string", "examples": ["2", "é"]}\n'


def test_layout():
    words = [f"word-{number}" for number in range(14)]
    record = {"type": "object", "additionalProperties": False, "required": ["name", "key"]}
    named = {"name": {"type": "string"}, "key": {"type": "string", "pattern": "^[-._a-zA-Z0-9]+$"}}
    data = {
        "title": "A schema",
        "enum": words,
        "anyOf": [{"required": ["a"], "enum": words}, {"required": ["b"]}],
        "properties": {
            "short": {"type": "boolean"},
            "list": {"type": "array", "items": {**record, "properties": named}},
            "record": {**record, "required": words, "properties": named},
        },
    }
    assert (
        json_lines(data, listings=["properties"])
        == """\
{
  "title": "A schema",
  "enum": ["word-0", "word-1", "word-2", "word-3", "word-4", "word-5", "word-6", "word-7", "word-8", "word-9",
    "word-10", "word-11", "word-12", "word-13"],
  "anyOf": [
    {"required": ["a"], "enum": ["word-0", "word-1", "word-2", "word-3", "word-4", "word-5", "word-6", "word-7",
      "word-8", "word-9", "word-10", "word-11", "word-12", "word-13"]},
    {"required": ["b"]}
  ],
  "properties": {
    "short": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["name", "key"],
      "properties": {"name": {"type": "string"}, "key": {"type": "string", "pattern": "^[-._a-zA-Z0-9]+$"}}}},
    "record": {"type": "object", "additionalProperties": false,
      "required": ["word-0", "word-1", "word-2", "word-3", "word-4", "word-5", "word-6", "word-7", "word-8", "word-9",
        "word-10", "word-11", "word-12", "word-13"],
      "properties": {"name": {"type": "string"}, "key": {"type": "string", "pattern": "^[-._a-zA-Z0-9]+$"}}}
  }
}
"""
    )


def test_what_json_cannot_say_is_an_error():
    with pytest.raises(TypeError):
        json_lines({"a": {1, 2}})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"b": 1, "a": [True, None, {}]}, '{"a":[true,null,{}],"b":1}'),
        ({"Z": 1, "a": 2, "é": 3, "\uff5e": 4, "😀": 5}, '{"Z":1,"a":2,"é":3,"\uff5e":4,"😀":5}'),
        ('<&>"\\\t\n/', '"<&>\\"\\\\\\t\\n/"'),
        ("\u2028\u2029", '"\\u2028\\u2029"'),
        (0, "0"),
        (-5, "-5"),
        (5.0, "5"),
        (0.5, "0.5"),
        (2**53 - 1, "9007199254740991"),
        (2**60, "1152921504606847000"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.5e300, "-1.5e+300"),
        (0.000001, "0.000001"),
        (0.00000125, "0.00000125"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
    ],
)
def test_the_text_is_gos(data: object, expected: str) -> None:
    assert canonical(data) == expected


def test_a_digest_is_the_beginning_of_sha256sum() -> None:
    """The digest comes from `printf '{"a":"é"}' | sha256sum`."""
    assert digest({"a": "é"}) == "b3a092a6af48"


@pytest.mark.parametrize("data", [math.inf, -math.inf, math.nan])
def test_json_has_no_infinity(data: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(data)


@pytest.mark.parametrize("data", [b"x", {1, 2}, object()])
def test_json_has_no_such_thing(data: object) -> None:
    with pytest.raises(TypeError):
        canonical(data)

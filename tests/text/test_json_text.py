"""Tests of JSON text for people, which has the same data in lines of limited length."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfgen.text.json_text import WIDTH, dump

SCALAR = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
NAME = st.text('abc é"', max_size=6) | st.just("properties")
DATA = st.recursive(
    SCALAR, lambda part: st.lists(part, max_size=9) | st.dictionaries(NAME, part, max_size=9), max_leaves=30
)


@given(DATA)
def test_it_is_the_same_data_in_the_same_order(data):
    text = dump(data, listings=["properties"])
    assert json.dumps(json.loads(text)) == json.dumps(data)
    assert text.endswith("\n")


@given(DATA)
def test_a_line_is_too_long_only_where_one_word_is(data):
    for line in dump(data, listings=["properties"]).splitlines():
        assert len(line) <= WIDTH or len(line.split(", ")) == 1, line


def test_what_fits_stands_in_one_line():
    assert dump({"type": "string", "examples": ["2", "é"]}) == '{"type": "string", "examples": ["2", "é"]}\n'


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
        dump(data, listings=["properties"])
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
        dump({"a": {1, 2}})

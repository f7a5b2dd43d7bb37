"""Tests of the path of each line of a YAML text."""

from __future__ import annotations

import pytest

from tfgen.text.parse import line_paths


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\n  b: 1\n# next\nc: |\n  two\n\n  lines\n", ["a", "a.b", "c", "c", "c", "c", "c"]),
        ("- x: 1\n  y:\n  - z\n- w\n", ["0.x", "0.y", "0.y.0", "1"]),
        ('{\n  "a": {"b": 1,\n    "c": 2\n  },\n  "d": 3}\n', ["a.b", "a.b", "a.c", "a", "d"]),
        ('a: "x"\nb: {}\n', ["a", "b"]),
    ],
)
def test_paths(text: str, expected: list[str]) -> None:
    assert [".".join(map(str, path)) for path in line_paths(text)] == expected


def test_a_character_that_libyaml_refuses_keeps_the_lines() -> None:
    assert line_paths('{"a": "\x7f",\n"b": 1}\n') == [("a",), ("b",)]

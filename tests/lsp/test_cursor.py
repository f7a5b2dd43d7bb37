"""Tests of the key or the value at the cursor. A | marks the cursor."""

from __future__ import annotations

import pytest

from tests.support.marked import marked
from tfgen.data_path import Path
from tfgen.lsp.cursor import find_key


@pytest.mark.parametrize(
    ("text", "path", "token"),
    [
        ("spec:\n  ima|ge: tf:1\n", ("spec", "image"), "image"),
        ("spec:\n  image|: tf:1\n", ("spec", "image"), "image"),
        ("spec:\n  image: t|f:1\n", ("spec", "image"), "tf:1"),
        ("spec: {roles: {ps: {re|plicas: 1}}}\n", ("spec", "roles", "ps", "replicas"), "replicas"),
        ("args:\n- a\n- |b\n", ("args", 1), "b"),
        ("tolerations:\n- key: gpu\n  oper|ator: Exists\n", ("tolerations", 0, "operator"), "operator"),
        ('"a b": "c |d"\n', ("a b",), '"c d"'),
        ("a: 1\n---\nb: |2\n", ("b",), "2"),
        ("a: 1\r\nb: |2\r\n", ("b",), "2"),
        ("a: &x 1\nb: *|x\n", ("b",), "*x"),
    ],
)
def test_a_key_or_a_value_is_found(text: str, path: Path, token: str) -> None:
    text, position = marked(text)
    cursor = find_key(text, position)
    assert cursor is not None
    assert cursor.path == path
    line = text.splitlines()[cursor.start.line - 1]
    assert line[cursor.start.column - 1 : cursor.end.column - 1] == token


@pytest.mark.parametrize(
    "text",
    ["spec:\n  image: tf:1  # the |image\n", "spec:|\n\n  image: 1\n", "a: {|\n", "a: 1\n\n|\n", "a:   |  1\n"],
    ids=["comment", "colon", "no YAML", "empty line", "blanks"],
)
def test_all_else_is_neither(text: str) -> None:
    assert find_key(*marked(text)) is None


def test_a_line_behind_the_text_is_neither() -> None:
    text, position = marked("a: 1|")
    assert find_key(text, position._replace(line=9)) is None

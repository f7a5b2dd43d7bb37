"""Tests of the position at which a person types. A | marks the position."""

from __future__ import annotations

import pytest

from tests.support.marked import marked
from tfgen.data_path import Path
from tfgen.lsp.spot import Spot, find_spot

KEY, VALUE = False, True


@pytest.mark.parametrize(
    ("text", "path", "is_value", "word"),
    [
        ("sp|", (), KEY, "sp"),
        ("|", (), KEY, ""),
        ("spec:\n  ima|\n  roles: {}\n", ("spec",), KEY, "ima"),
        ("spec:\n  |\n", ("spec",), KEY, ""),
        ("spec:\n  ima|ge: tf:1\n", ("spec",), KEY, "ima"),
        ("spec:\n  # a comment\n\n  image: tf\n  |", ("spec",), KEY, ""),
        ("spec:\n  strategy: |\n", ("spec", "strategy"), VALUE, ""),
        ("spec:\n  strategy: Mu|\n", ("spec", "strategy"), VALUE, "Mu"),
        ("spec:\n  gang: {|", ("spec", "gang"), KEY, ""),
        ("spec:\n  gang: {a: '}', sche|", ("spec", "gang"), KEY, "sche"),
        ("spec:\n  gang: {scheduler: vol|}\n", ("spec", "gang", "scheduler"), VALUE, "vol"),
        ("spec:\n  prod: {\n    gang: {q|", ("spec", "prod", "gang"), KEY, "q"),
        ("spec:\n  storage:\n    data: {for: [chief, wo|]}", ("spec", "storage", "data", "for", 1), VALUE, "wo"),
        ("for:\n- a\n- wo|\n", ("for", 0), VALUE, "wo"),
        ("for:\n- |\n", ("for", 0), VALUE, ""),
        ("tolerations:\n  - key: gpu\n    oper|\n", ("tolerations", 0), KEY, "oper"),
        ("tolerations:\n- key: gpu\n  oper|\n", ("tolerations", 0), KEY, "oper"),
        ("a: {\nb: 'x\nspec:\n  ima|\n", ("spec",), KEY, "ima"),
        ("a: 1\n---\nb:\n  c|", ("b",), KEY, "c"),
        ("a:\r\n  b|\r\n", ("a",), KEY, "b"),
        ("a: '# no comment'\nb: x|", ("b",), VALUE, "x"),
    ],
)
def test_a_place_is_found(text: str, path: Path, is_value: bool, word: str) -> None:
    spot = find_spot(*marked(text))
    assert spot is not None
    assert spot[:3] == (path, is_value, word)


@pytest.mark.parametrize(
    "text",
    [
        "spec: {}  # a wo|rd",
        "spec:\n  image: tf:1 |",
        "gang: {scheduler: a b |}",
        "gang: [a b |]",
        "image: tf:1\n    dee|",
        'a: "b|',
        "for:\n-|\n",
    ],
)
def test_all_else_takes_neither_a_key_nor_a_value(text: str) -> None:
    assert find_spot(*marked(text)) is None


def test_a_line_behind_the_text_is_no_place() -> None:
    text, position = marked("a: |")
    assert find_spot(text, position._replace(line=7)) is None


@pytest.mark.parametrize(("text", "is_flow"), [("a: {b|", True), ("a: {b: 1}\nc|", False)])
def test_a_place_in_braces_is_known(text: str, is_flow: bool) -> None:
    spot = find_spot(*marked(text))
    assert spot is not None
    assert spot == Spot(spot.path, False, spot.word, "", False, is_flow)


@pytest.mark.parametrize(
    ("text", "tail", "has_colon"), [("ima|ge: a", "ge", True), ("ima|ge", "ge", False), ("spec: {ima|: 1}", "", True)]
)
def test_the_tail_of_a_key_is_found(text: str, tail: str, has_colon: bool) -> None:
    spot = find_spot(*marked(text))
    assert spot is not None
    assert (spot.tail, spot.has_colon) == (tail, has_colon)

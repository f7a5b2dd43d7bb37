from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tfgen.errors import Position, Problem
from tfgen.report.problems import as_text
from tfgen.text.document import MAX_SIZE, Document
from tfgen.text.parse import MAX_BYTES, decode, parse
from tfgen.text.reader import find_refused_character

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[1] / "data" / "yaml"

TEXT = st.text(st.characters(codec="utf-8"), max_size=20).filter(lambda text: not find_refused_character(text))
KEY = TEXT.filter(lambda text: text != "<<")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(KEY, part, max_size=4),
)


def only(text: str) -> Document:
    parsed = parse(text, "job.yaml")
    assert as_text(parsed.problems) == ""
    (document,) = parsed.documents
    return document


@pytest.mark.parametrize("path", sorted({path.with_suffix("") for path in CASES.iterdir()}), ids=lambda path: path.name)
def test_case(path: Path) -> None:
    """NAME.out has the problems of NAME.yaml or, without problems, the data as JSON, with one line per document."""
    source = path.with_suffix(".yaml")
    text = decode(source.read_bytes(), source.name)
    assert isinstance(text, str)
    parsed = parse(text, source.name)
    data = "".join(f"{json.dumps(document.data, ensure_ascii=False)}\n" for document in parsed.documents)
    assert (as_text(parsed.problems) or data) == path.with_suffix(".out").read_text(encoding="utf-8")


def test_brackets_beyond_the_limit_of_libyaml_have_the_rule_of_depth() -> None:
    """libyaml 0.2.6 and newer read ahead in a line and stop at 1,000 levels."""
    (problem,) = parse("kind: " + "[" * 2000, "job.yaml").problems
    assert (problem.rule, problem.message) == ("yaml-depth", "this value is nested more than 100 levels deep")


def test_places() -> None:
    document = only(
        "kind: Job\nspec:\n  image: &image 'tf:1.10'\n  rate: 1.10\n  args: [a, é😀, b]\n  script: |\n    x\n  gone:\n"
    )
    at = {
        path: (document.key(path), document.value(path), document.text(path))
        for path in [
            (),
            ("kind",),
            ("spec",),
            ("spec", "image"),
            ("spec", "rate"),
            ("spec", "args"),
            ("spec", "args", 2),
            ("spec", "script"),
            ("spec", "gone"),
        ]
    }
    assert at == {
        (): ((1, 1), (1, 1), None),
        ("kind",): ((1, 1), (1, 7), "Job"),
        ("spec",): ((2, 1), (3, 3), None),
        ("spec", "image"): ((3, 3), (3, 10), "tf:1.10"),
        ("spec", "rate"): ((4, 3), (4, 9), "1.10"),
        ("spec", "args"): ((5, 3), (5, 9), None),
        ("spec", "args", 2): ((5, 17), (5, 17), "b"),
        ("spec", "script"): ((6, 3), (6, 11), "x\n"),
        ("spec", "gone"): ((8, 3), (8, 8), ""),
    }


@pytest.mark.parametrize("path", [("spec", "replicas"), ("spec", "replicas", "x", 0), ("spec", 0)])
def test_what_is_not_there_is_placed_at_its_nearest_ancestor(path: tuple[str | int, ...]) -> None:
    document = only("kind: Job\nspec:\n  image: x\n")
    assert (document.key(path), document.value(path), document.text(path)) == ((2, 1), (3, 3), None)


def test_aliases_and_merged_keys_stand_where_they_were_written() -> None:
    document = only("base: &base\n  image: x\n  size: 1\nown:\n  <<: *base\n  size: 2\nlist:\n- *base\n")
    assert document.key(("own", "image")) == (2, 3)
    assert document.key(("own", "size")) == (6, 3)
    assert document.value(("list", 0)) == (8, 3)
    assert document.value(("list", 0, "image")) == (2, 10)


def test_no_two_parts_of_the_data_are_one_object() -> None:
    data = only("a: &a {x: [1]}\nb: *a\nc: {<<: *a}\nd: {<<: *a}\n").data
    for part in data.values():
        part["x"].append(2)
    assert data == {name: {"x": [1, 2]} for name in "abcd"}


def test_an_anchor_is_forgotten_when_it_is_set_again() -> None:
    assert only("- &a 1\n- &a 2\n- *a\n").data == [1, 2, 2]


def test_problems_come_with_the_documents_that_can_be_read() -> None:
    parsed = parse("a: 1\n---\nb: 1\nb: 2\n---\nc: [\n", "job.yaml")
    assert [document.data for document in parsed.documents] == [{"a": 1}, {"b": 1}]
    assert [(problem.rule, problem.position) for problem in parsed.problems] == [
        ("duplicate-key", (4, 1)),
        ("yaml-syntax", (7, 1)),
    ]


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    text = decode(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n", "job.yaml")
    assert isinstance(text, str)
    document = only(text)
    assert document.data == {"a": 1, "b": "x\n"}
    assert document.key(("b",)) == (2, 1)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"a: 1\rb: 2\n", "job.yaml:1:5: some YAML parsers reject or change the character U+000D; remove it"),
        (
            "a: x\ufeff\n".encode(),
            "job.yaml:1:5: some YAML parsers reject or change the character U+FEFF; remove it",
        ),
        ("a: 1".encode("utf-16"), "job.yaml:1:1: the file is UTF-16; save it as UTF-8"),
        (b"# \xc3\xa9\n\xc3\xa9\xe9: 1\n", "job.yaml:2:2: the byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbfa\xff", "job.yaml:1:2: the byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"#" * (MAX_BYTES + 1), "job.yaml:1:1: the file is larger than 1,048,576 bytes"),
        (b"", "job.yaml:1:1: the file has no content"),
    ],
)
def test_bytes(raw: bytes, problem: str) -> None:
    text = decode(raw, "job.yaml")
    found = text if isinstance(text, Problem) else parse(text, "job.yaml").problems[0]
    assert str(found).rpartition(" [")[0] == problem


@pytest.mark.parametrize(
    "text",
    {
        "values": "- a\n" * (MAX_BYTES // 4),
        "keys": "".join(f"a{i}: b\n" for i in range(MAX_BYTES // 11)),
        "open lists": "[" * MAX_BYTES,
        "open mappings": "{a: " * (MAX_BYTES // 4),
        "open keys": "? " * (MAX_BYTES // 2),
        "indentation": "\n".join(" " * depth + "a:" for depth in range(1400)),
        "anchors": "- &a\n" * (MAX_BYTES // 5),
        "aliases": "a: &a [" + "x," * 300 + "]\nb: [" + "*a," * (MAX_BYTES // 4) + "]",
        "merges": "a: &a {" + ",".join(f"k{i}: 1" for i in range(300)) + "}\n" + "- {<<: *a}\n" * 20_000,
        "long text": "a: &a " + "x" * 500_000 + "\nb: [" + "*a," * 150_000 + "]",
        "long keys": "a: &a {" + "x" * 1000 + ": 1}\n" + "".join(f"b{i}: *a\n" for i in range(50_000)),
        "directives": "%TAG ! x\n" * (MAX_BYTES // 9),
        "documents": "---\n" * (MAX_BYTES // 4),
        "one key": "a: 1\n" * (MAX_SIZE - 1),
        "problems": "{1: 1, 1: 1}: .inf\n" * 20_000,
        "one digit after the other": "a: " + "9" * MAX_BYTES,
        "control characters": "\x00\n" * (MAX_BYTES // 2),
        "blanks": " " * MAX_BYTES + "x",
        "colons": ":" * MAX_BYTES,
    }.items(),
    ids=lambda item: item[0],
)
def test_no_file_takes_long(text: tuple[str, str]) -> None:
    start = time.process_time()
    parsed = parse(text[1], "job.yaml")
    assert time.process_time() - start < 8  # seconds; about 1 on an idle machine
    assert len(parsed.problems) <= 100


def test_as_many_values_as_allowed() -> None:
    assert len(only("- a\n" * (MAX_SIZE - 1)).data) == MAX_SIZE - 1
    assert parse("- a\n" * MAX_SIZE, "job.yaml").problems[0].rule == "yaml-size"


@pytest.mark.long
@given(st.dictionaries(KEY, JSON, min_size=1), st.booleans())
def test_json_and_yaml_of_pyyaml_are_read_with_the_places_of_pyyaml(data: dict[str, Any], flow: bool) -> None:
    """PyYAML writes the texts `y`, `1e3` and `0o7` without quotes, as in YAML 1.1. tfgen reads texts, too."""
    written = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    assert json.dumps(only(written).data) == json.dumps(data)
    text = json.dumps(data, ensure_ascii=False, indent=None if flow else 2)
    document = only(text)
    assert json.dumps(document.data) == json.dumps(data)
    for path, key, value in places(yaml.compose(text, Loader=yaml.SafeLoader)):
        assert (document.key(path), document.value(path)) == (key, value)


def places(node: Any) -> Iterator[tuple[tuple[str | int, ...], Position, Position]]:
    """Yield the path, the position of the key and the position of the value for all values below a node of PyYAML."""

    def at(node: Any) -> Position:
        return Position(node.start_mark.line + 1, node.start_mark.column + 1)

    if isinstance(node, yaml.MappingNode):
        parts = [(key.value, key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        parts = [(index, value, value) for index, value in enumerate(node.value)]
    else:
        parts = []
    for step, key, value in parts:
        yield (step,), at(key), at(value)
        yield from (((step, *path), *rest) for path, *rest in places(value))


@given(st.text(st.sampled_from(list("ab1:-?,[]{}#&*!|>'\"%@`~.<= \n\n  \t\\x0\r\0\u2028\ud800")), max_size=60))
def test_any_text_is_read_or_has_problems_within_it(text: str) -> None:
    parsed = parse(text, "job.yaml")
    assert parsed.documents or parsed.problems
    lines = text.replace("\r\n", "\n").split("\n")
    for problem in parsed.problems:
        line, column = problem.position
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from tfgen.data_path import MAX_INTEGER
from tfgen.text.parse import parse
from tfgen.text.reader import find_refused_character
from tfgen.text.yaml_text import CommentedMapping, documents, dump, find_forbidden_character, scalar

TEXT = st.text(st.characters(codec="utf-8")).filter(lambda text: not find_forbidden_character(text))
SYNTAX = st.text(st.sampled_from(list("ynoNeE01.-+_:, \n\t#?&*!|>'\"%@`[]{}\\$<=~xaZTé😀\u00a0\u200b")), max_size=12)
STRING = TEXT | SYNTAX
KEY = STRING.filter(lambda text: text != "<<")
INTEGER = st.integers(-MAX_INTEGER, MAX_INTEGER)
LEAF = st.none() | st.booleans() | INTEGER | st.floats(allow_nan=False, allow_infinity=False) | STRING
DATA = st.recursive(LEAF, lambda part: st.lists(part, max_size=4) | st.dictionaries(KEY, part, max_size=4))


def same(left: Any, right: Any) -> bool:
    """Test whether data and types are equal: 1, 1.0 and true differ, and the order of keys counts."""
    return json.dumps(left) == json.dumps(right)


def test_layout() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"labels": {}, "name": "x"},
        "spec": {
            "containers": [
                {"name": "a", "args": ["--rate=1e-3", "1e-3"], "env": []},
                {"command": ["sh", "-c", "cd /app\nexec python train.py\n"]},
            ],
            "matrix": [[1, [2.5, []]], [{"a": None}]],
            "suspend": False,
        },
    }
    expected = """\
kind: Pod
metadata:
  labels: {}
  name: x
spec:
  containers:
  - name: a
    args:
    - --rate=1e-3
    - "1e-3"
    env: []
  - command:
    - sh
    - -c
    - |
      cd /app
      exec python train.py
  matrix:
  - - 1
    - - 2.5
      - []
  - - a: null
  suspend: false
"""
    assert dump(pod) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (-MAX_INTEGER, "-9007199254740991"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e-05, "1.0e-05"),
        (1.5e300, "1.5e+300"),
        ("", '""'),
        ("worker", "worker"),
        ("registry.local:5000/team/tf:2.17.0-gpu", "registry.local:5000/team/tf:2.17.0-gpu"),
        ("--ps_hosts=a:2222,b:2222", "--ps_hosts=a:2222,b:2222"),
        ("$(TF_CLUSTER)", "$(TF_CLUSTER)"),
        ("/data/é 😀", "/data/é 😀"),
        ("16Gi", "16Gi"),
        ("500m", "500m"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("1.31.0", '"1.31.0"'),
        ("4", '"4"'),
        ("1234e56", '"1234e56"'),
        ("N", '"N"'),
        ("oN", '"oN"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("- a", '"- a"'),
        ("-a", "-a"),
        ("--- a", '"--- a"'),
        (" a", '" a"'),
        ("a ", '"a "'),
        ("it's", "it's"),
        ("'", '''"'"'''),
        ('{"a":1}', """'{"a":1}'"""),
        ('say "it\'s"', 'say "it\'s"'),
        ('{"it\'s":1}', r'''"{\"it's\":1}"'''),
        ("{{ .Values.x }}", '"{{ .Values.x }}"'),
        (r"*\d", r"'*\d'"),
        ("a\tb\n", r'"a\tb\n"'),
    ],
)
def test_scalar(value: Any, text: str) -> None:
    assert scalar(value) == text


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("a\n", "|\n  a\n"),
        ("a\nb", "|-\n  a\n  b\n"),
        ("# c\n---\n\n  b: *x\t'\n", "|\n  # c\n  ---\n\n    b: *x\t'\n"),
        ("a\n\n\nb\n\n\n\nc\n", "|\n  a\n\n\n  b\n\n\n\n  c\n"),
        ("a\n\n", r'"a\n\n"' + "\n"),
        ("a \nb", r'"a \nb"' + "\n"),
        ("a\n ", r'"a\n "' + "\n"),
        (" a\nb", r'" a\nb"' + "\n"),
        ("\na", r'"\na"' + "\n"),
        ("\ta\nb", r'"\ta\nb"' + "\n"),
        ("\n", r'"\n"' + "\n"),
    ],
)
def test_lines(text: str, block: str) -> None:
    assert dump({"key": text}) == f"key: {block}"


def test_no_line_is_folded_and_no_object_becomes_an_alias() -> None:
    shared = {"text": "word " * 100 + "end"}
    assert dump([shared, shared]) == f"- text: {shared['text']}\n" * 2


def test_each_comment_is_above_its_first_entry() -> None:
    long = "word " * 30
    data = {
        "spec": CommentedMapping({"a": 1, "items": [], "b": {"c": "x"}}, {"a": "Why a.", "b": long.strip()}),
        "list": [CommentedMapping({"name": "one", "value": "v"}, {"name": "Why n.", "value": "Why v."})],
        "again": CommentedMapping({"a": 2}, {"a": "Why a.", "absent": "Why absent."}),
    }
    assert dump(data).splitlines() == [
        "spec:",
        "  # Why a.",
        "  a: 1",
        "  items: []",
        f"  # {('word ' * 23).strip()}",
        f"  # {('word ' * 7).strip()}",
        "  b:",
        "    c: x",
        "list:",
        "# Why n.",
        "- name: one",
        "  # Why v.",
        "  value: v",
        "again:",
        "  a: 2",
    ]


def test_several_documents() -> None:
    assert documents([{"a": 1}, [], "x"]) == "a: 1\n---\n[]\n---\nx\n"
    assert documents([]) == ""


@pytest.mark.parametrize(
    "character", ["\0", "\r", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "\U0010ffff", "\ud800"]
)
@pytest.mark.parametrize("write", [scalar, dump, lambda text: dump({text: 1}), lambda text: dump([f"a\n{text}b\n"])])
def test_what_no_reader_carries_is_refused(write: Any, character: str) -> None:
    with pytest.raises(ValueError, match=f"U\\+{ord(character):04X}"):
        write(f"a{character}")


@pytest.mark.parametrize("data", [float("inf"), float("nan"), {"<<": 1}, {"k" * 1001: 1}])
def test_what_json_or_a_reader_refuses(data: Any) -> None:
    with pytest.raises(ValueError):
        dump(data)


@pytest.mark.parametrize("data", [{1: "x"}, {None: 1}, {"a": b"x"}, {"a": {1, 2}}, ("a",)])
def test_what_json_cannot_say(data: Any) -> None:
    with pytest.raises(TypeError):
        dump(data)


@given(DATA)
def test_data_comes_back_from_pyyaml(data: Any) -> None:
    text = dump(data)
    assert same(yaml.load(text, Loader=yaml.CSafeLoader), data)
    assert same(yaml.load(text, Loader=yaml.SafeLoader), data)


@given(DATA)
def test_data_comes_back_from_our_own_reader(data: Any) -> None:
    text = dump({"data": data})
    assume(not find_refused_character(text))  # the reader also refuses characters that control the direction of text
    parsed = parse(text, "a.yaml")
    assert not parsed.problems
    assert same(parsed.documents[0].data, {"data": data})


@given(KEY, STRING)
def test_scalars_stand_where_keys_and_values_do(key: str, value: str) -> None:
    line = f"{scalar(key)}: {scalar(value)}"
    assert "\n" not in line
    assert same(yaml.load(f"a:\n- {line}\n", Loader=yaml.CSafeLoader), {"a": [{key: value}]})


@given(st.lists(DATA))
def test_documents_come_back(objects: list[Any]) -> None:
    assert same(list(yaml.load_all(documents(objects), Loader=yaml.CSafeLoader)), objects)

"""The places of a job file: the key or the value at the cursor (a | marks the cursor), and edits of a text."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from tests.lsp.conftest import Desk
from tests.support.marked import marked
from tfgen import data_path
from tfgen.lsp.places import Spot, apply_change, find_key, find_spot

# -- keys and values ---------------------------------------------------------------------------------------------------


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
def test_a_key_or_a_value_is_found(text: str, path: data_path.Path, token: str) -> None:
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


# -- spots of a completion ---------------------------------------------------------------------------------------------

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
def test_a_place_is_found(text: str, path: data_path.Path, is_value: bool, word: str) -> None:
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


# -- edits -------------------------------------------------------------------------------------------------------------

LETTERS = ["a", ":", " ", "\n", "\r\n", "é", "\U0001f600", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"]


def units(text: str) -> list[str]:
    """Return the UTF-16 code units of a text, in which editors count columns."""
    encoded = text.encode("utf-16-le")
    return [encoded[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(encoded), 2)]


class Client:
    """An editor that has its own text as UTF-16 code units. A newline ends a line, as in the protocol."""

    def __init__(self, rng: random.Random) -> None:
        self.units: list[str] = []
        self._rng = rng

    @property
    def text(self) -> str:
        return "".join(self.units).encode("utf-16-le", "surrogatepass").decode("utf-16-le")

    def _places(self) -> list[tuple[int, types.Position]]:
        """Return the offset and the position of each place between two characters."""
        places = []
        line = column = 0
        for offset, unit in enumerate([*self.units, ""]):
            if not "\udc00" <= unit <= "\udfff" and not (unit == "\n" and self.units[offset - 1 : offset] == ["\r"]):
                places.append((offset, types.Position(line, column)))
            line, column = (line + 1, 0) if unit == "\n" else (line, column + 1)
        return places

    def edit(self) -> types.TextDocumentContentChangePartial:
        """Replace a random range of the text by random characters."""
        places = self._places()
        first = self._rng.randrange(len(places))
        last = min(first + self._rng.choice([0, 0, 1, 2, 5]), len(places) - 1)
        (start, from_position), (end, to_position) = places[first], places[last]
        new = "".join(self._rng.choices(LETTERS, k=self._rng.choice([0, 1, 1, 3]) if len(places) < 60 else 0))
        self.units[start:end] = units(new)
        return types.TextDocumentContentChangePartial(types.Range(from_position, to_position), new)


@pytest.mark.parametrize("seed", range(10))
def test_after_a_thousand_edits_the_text_equals_that_of_the_editor(seed: int) -> None:
    client, text, codec = Client(random.Random(seed)), "", PositionCodec()
    for _ in range(1_000):
        change = client.edit()
        text = apply_change(codec, text, change)
        assert text == client.text


def test_a_change_below_u2028_changes_its_own_line(desk: Desk) -> None:
    file = desk.file("jobs/job.yaml")
    job = (
        "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec:\n"
        "  image: a:1 # one\u2028two\x0cthree\n  roles: {chief: {}}\n  args: [a]\n"
    )

    async def talk() -> None:
        desk.editor.open(file, job)
        desk.editor.change_range(file, types.Range(types.Position(6, 2), types.Position(6, 6)), "zzzz")
        desk.editor.change_range(file, types.Range(types.Position(4, 17), types.Position(4, 18)), "")
        desk.editor.change_range(file, types.Range(types.Position(4, 20), types.Position(4, 21)), "")
        while not (found := [d for d in await desk.editor.diagnostics(file) if d.code == "unknown-key"]):
            pass
        assert [(d.message, d.range.start.line, d.range.end.character) for d in found] == [
            ('unknown key "zzzz" in spec', 6, 6)
        ]

    desk.run(talk())


def test_no_range_extends_past_its_line(desk: Desk) -> None:
    file = desk.file("jobs/job.yaml")
    job = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata:\n  name:\nspec: {image:\n"

    async def talk() -> None:
        desk.editor.open(file, job)
        lines = job.split("\n")
        diagnostics = await desk.editor.diagnostics(file)
        assert diagnostics
        assert [d for d in diagnostics if d.range.end.character > len(lines[d.range.end.line])] == []

    desk.run(talk())


@pytest.mark.parametrize(("methods", "code"), [(["shutdown", "exit"], 0), (["exit"], 1)])
def test_exit_has_the_code_of_the_protocol(methods: list[str], code: int, tmp_path: Path) -> None:
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        *({"method": name, **({"id": 2} if name == "shutdown" else {})} for name in methods),
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    done = subprocess.run(
        [sys.executable, "-m", "tfgen", "lsp", "--stdio"],
        input=b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies),
        capture_output=True,
        cwd=tmp_path,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, b"")

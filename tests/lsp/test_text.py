"""Tests that the server has the text of the editor after each change, and exits as the protocol defines."""

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
from tfgen.lsp.ranges import apply_change

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

"""Tests that each tfgen command with a value in a message comes from `words.command_line`, which quotes the value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.tools import ROOT

TFGEN = ROOT / "gen" / "tfgen"
VALUE = "\0"
"""Stands for an inserted value in the text of an f-string."""
COMMANDS = "|".join(path.stem.rstrip("_") for path in (TFGEN / "commands").glob("*.py"))
COMMAND = re.compile(rf"tfgen ({COMMANDS}|{VALUE})( (-\S+|[A-Z]+))* {VALUE}")
"""Pattern of a command whose argument is an inserted value. Options and words such as JOB may precede the value."""


def unquoted_commands(source: str) -> Iterator[int]:
    """Yield the line of each f-string that inserts a value into a tfgen command, and of each list of its words."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
            if COMMAND.search(text):
                yield node.lineno
        elif isinstance(node, ast.List) and node.elts and getattr(node.elts[0], "value", None) == "tfgen":
            yield node.lineno


def test_one_function_writes_the_commands_of_messages() -> None:
    lines = [
        f"{path.relative_to(TFGEN).as_posix()}: {line}"
        for path in sorted(Path(TFGEN).rglob("*.py"))
        for line in unquoted_commands(path.read_text(encoding="utf-8"))
    ]
    assert [line.partition(":")[0] for line in lines] == ["words.py"], lines


def test_a_command_without_quotes_is_found() -> None:
    source = """\
f"run tfgen render {file}"
f"to render the job: tfgen render --upgrade {file}"
f"tfgen {command} JOB --env {name}"
["tfgen", "rm", file]
f"tfgen {version} writes the file"
f"tfgen render writes {file}"
"""
    assert [*unquoted_commands(source)] == [1, 2, 3, 4]

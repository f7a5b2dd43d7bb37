"""Tests that only `cli/output.py` prints messages, because this module escapes the control characters of a terminal."""

from __future__ import annotations

import ast

from tests.support.tools import ROOT

# These modules print the user's data unchanged (YAML, a script, a log), text of tfgen, or colors around escaped text.
PRINT_DATA = {"completion", "diff", "draw", "import_", "local", "logs", "plan", "render", "schema", "status"}
PRINT_DATA |= {"output", "tensorboard"}


def test_only_the_module_of_the_output_prints_messages() -> None:
    printing = {
        path.stem
        for room in ("cli", "commands")
        for path in (ROOT / "gen" / "tfgen" / room).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert printing == PRINT_DATA

"""Tests of the statements of a shell script, and of the role and index in the command of a task."""

from __future__ import annotations

import pytest

from tfgen.importers.part import part_of
from tfgen.importers.tf_config import read_command, statements


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a; b\nc", ["a", "b", "c"]),
        ("A=1 && b && c || d", ["A=1", "b", "c || d"]),
        ("a 'x; y && z' && b", ["a 'x; y && z'", "b"]),
        ("a $(b; c) && d", ["a $(b; c)", "d"]),
        ("a; # it's b; c\nd", ["a", "# it's b; c", "d"]),
        ("a#b; c", ["a#b", "c"]),
        ("if a; then b; fi; c", ["if a; then b; fi", "c"]),
        ("for i in 1; do if a; then b; fi; done\nc", ["for i in 1; do if a; then b; fi; done", "c"]),
        ("f() { a; }\nf", ["f() { a; }", "f"]),
        ("if a; then b", ["if a; then b"]),
        ("cat <<E\na; b\nE", ["cat <<E\na; b\nE"]),
    ],
)
def test_a_script_is_statements(script: str, expected: list[str]) -> None:
    assert [statement.text for statement in statements(script)] == expected


CONFIG = 'TF_CONFIG="{\\"task\\": {\\"type\\": \\"worker\\", \\"index\\": $I}}"'


@pytest.mark.parametrize(
    ("script", "left"),
    [
        (f"export {CONFIG} && python x.py", ["python", "x.py"]),
        (f"cd /x && {CONFIG} && export TF_CONFIG && python x.py", ["sh", "-c", "cd /x && python x.py"]),
        (f"I=$(hostname | cut -d- -f2); export {CONFIG}; python x.py", ["python", "x.py"]),
        (f"I=1; export {CONFIG}; python x.py $I", ["sh", "-c", "I=1; python x.py $I"]),
        (f"export {CONFIG}; # the cluster\npython x.py", ["python", "x.py"]),
        (f"if a; then b; fi; export {CONFIG}; python x.py", ["sh", "-c", "if a; then b; fi; python x.py"]),
    ],
)
def test_tf_config_is_taken_off_a_script(script: str, left: list[str]) -> None:
    command = read_command(part_of({"command": ["sh", "-c", script]}))
    assert (command.role, command.refusal, command.program.command) == ("worker", "", left)


@pytest.mark.parametrize("script", [f"if a; then export {CONFIG}; fi; python x.py", f"a || {CONFIG}; python x.py"])
def test_a_script_that_may_set_tf_config_is_refused(script: str) -> None:
    command = read_command(part_of({"command": ["sh", "-c", script]}))
    assert command.has_cluster
    assert "cannot remove the lines of the script that set TF_CONFIG" in command.refusal

"""Tests of the whole output of problems on a terminal."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tfgen.errors import Position, Problem
from tfgen.report.excerpts import MOST_ALIKE, as_excerpts

FILE = dedent(
    """\
    spec:
      image: "tf:latest"  # ours
      roles: {worker: {replica: 4}}
    \tenv: {A: b}
      名前: 値 x
      args: [LONG, --last]

    """
).replace("LONG", "x" * 120)


def problem(line: int, column: int, message: str = "wrong", rule: str = "rule") -> Problem:
    return Problem("job.yaml", Position(line, column), message, rule)


def shown(*problems: Problem, lines: str = FILE) -> str:
    return as_excerpts(problems, lambda file: lines.split("\n") if file == "job.yaml" else ())


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((3, 20), "3 |   roles: {worker: {replica: 4}}\n  |                    ^~~~~~~\n"),
        ((2, 10), '2 |   image: "tf:latest"  # ours\n  |          ^~~~~~~~~~~\n'),
        ((3, 29), "3 |   roles: {worker: {replica: 4}}\n  |                             ^\n"),
        ((1, 1), "1 | spec:\n  | ^~~~\n"),
        ((1, 6), "1 | spec:\n  |      ^\n"),
        ((4, 8), "4 | \\tenv: {A: b}\n  |         ^\n"),
        ((5, 7), "5 |   名前: 値 x\n  |         ^~\n"),
    ],
)
def test_the_caret_is_below_what_is_wrong(place: tuple[int, int], expected: str) -> None:
    line, column = place
    assert shown(problem(line, column)) == f"job.yaml:{line}:{column}: wrong [rule]\n  |\n{expected}"


def test_a_long_line_is_cut_around_it() -> None:
    line, caret = shown(problem(6, 132)).splitlines()[2:]
    assert line == f"6 | ... {'x' * 38}, --last]"
    assert caret == f"  |     {' ' * 40}^~~~~~"


@pytest.mark.parametrize("place", [(7, 1), (40, 1)])
def test_a_place_without_text_has_no_excerpt(place: tuple[int, int]) -> None:
    assert shown(problem(*place)) == f"job.yaml:{place[0]}:{place[1]}: wrong [rule]\n"


def test_a_file_that_cannot_be_read_has_none() -> None:
    assert as_excerpts([Problem("<stdin>", Position(1, 1), "wrong", "rule")], lambda _: ()) == (
        "<stdin>:1:1: wrong [rule]\n"
    )


def test_nothing_of_a_file_reaches_the_terminal_as_a_command() -> None:
    assert shown(problem(1, 1), lines="a\x1b[2J\n").splitlines()[2] == r"1 | a\x1b[2J"


def test_many_alike_are_folded_by_rule() -> None:
    many = [problem(1, 1, f"wrong {number:02}") for number in range(MOST_ALIKE + 7)]
    lines = shown(*many, problem(1, 1, "other", "another")).splitlines()
    assert [line for line in lines if "[rule]" in line] == [str(each) for each in many[:MOST_ALIKE]]
    assert lines[0] == "job.yaml:1:1: other [another]"
    assert lines[-1] == "7 more problems of the rule rule; pipe the output to see all problems"

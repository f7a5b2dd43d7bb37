"""The output of problems: lines, JSON, annotations, and excerpts on a terminal."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tfgen.errors import Position, Problem, has_errors, in_order
from tfgen.report.problems import MOST_ALIKE, as_excerpts, as_github, as_text, rows
from tfgen.words import shown

LATE = Problem("b.yaml", Position(1, 1), "late", "rule-b")
DEEP = Problem("a.yaml", Position(10, 2), "deep", "rule-a")
EARLY = Problem("a.yaml", Position(9, 30), "early", "rule-z", "warning")


def test_problems_stand_by_file_and_place_once_each() -> None:
    assert in_order([LATE, DEEP, EARLY, DEEP]) == (EARLY, DEEP, LATE)


def test_problems_at_one_place_stand_by_their_text() -> None:
    first, second = (Problem("a.yaml", Position(1, 1), "same", rule) for rule in ("rule-a", "rule-b"))
    assert in_order([second, first]) == (first, second)


def test_text_is_one_line_a_problem() -> None:
    assert as_text([LATE, DEEP, EARLY]) == (
        "a.yaml:9:30: warning: early [rule-z]\na.yaml:10:2: deep [rule-a]\nb.yaml:1:1: late [rule-b]\n"
    )


def test_text_of_nothing_is_nothing() -> None:
    assert as_text([]) == ""


def test_text_shows_what_a_terminal_would_obey() -> None:
    problem = Problem("a\n.yaml", Position(1, 1), "é 😀 \x1b[2J \u202e \ud800", "rule")
    assert str(problem) == r"a\n.yaml:1:1: é 😀 \x1b[2J \u202e \ud800 [rule]"


def test_github_gets_an_annotation_a_problem() -> None:
    """The escapes come from actions/toolkit: a comma ends a property, and the end of a line ends a command."""
    odd = Problem("a,b:c%.yaml", Position(1, 2), "100%: a, b\r\n::error::x \x1b[2J", "rule")
    assert as_github([odd, EARLY]) == (
        "::error file=a%2Cb%3Ac%25.yaml,line=1,col=2,title=rule::100%25: a, b%0D%0A::error::x \\x1b[2J\n"
        "::warning file=a.yaml,line=9,col=30,title=rule-z::early\n"
    )


def test_as_plain_data_each_is_a_row() -> None:
    assert rows([EARLY]) == [
        {"file": "a.yaml", "line": 9, "column": 30, "message": "early", "rule": "rule-z", "severity": "warning"}
    ]
    assert rows([]) == []


def test_only_errors_stop_the_work() -> None:
    assert has_errors([EARLY, DEEP])
    assert not has_errors([EARLY])


def test_values_are_shown_as_json_in_one_line() -> None:
    assert [shown(value) for value in ("it's\n", 'a"b', 1.5, None, ["é", {"a": True}], "\x85")] == [
        r'"it' + r"'s\n" + '"',
        r'"a\"b"',
        "1.5",
        "null",
        '["é", {"a": true}]',
        r'"\x85"',
    ]


def test_long_values_are_cut() -> None:
    assert shown("x" * 100, longest=10) == '"xxxxxx...'
    assert shown("x" * 8, longest=10) == '"xxxxxxxx"'


# -- excerpts ----------------------------------------------------------------------------------------------------------

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


def at_place(line: int, column: int, message: str = "wrong", rule: str = "rule") -> Problem:
    return Problem("job.yaml", Position(line, column), message, rule)


def excerpts(*problems: Problem, lines: str = FILE) -> str:
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
    assert excerpts(at_place(line, column)) == f"job.yaml:{line}:{column}: wrong [rule]\n  |\n{expected}"


def test_a_long_line_is_cut_around_it() -> None:
    line, caret = excerpts(at_place(6, 132)).splitlines()[2:]
    assert line == f"6 | ... {'x' * 38}, --last]"
    assert caret == f"  |     {' ' * 40}^~~~~~"


@pytest.mark.parametrize("place", [(7, 1), (40, 1)])
def test_a_place_without_text_has_no_excerpt(place: tuple[int, int]) -> None:
    assert excerpts(at_place(*place)) == f"job.yaml:{place[0]}:{place[1]}: wrong [rule]\n"


def test_a_file_that_cannot_be_read_has_none() -> None:
    assert as_excerpts([Problem("<stdin>", Position(1, 1), "wrong", "rule")], lambda _: ()) == (
        "<stdin>:1:1: wrong [rule]\n"
    )


def test_nothing_of_a_file_reaches_the_terminal_as_a_command() -> None:
    assert excerpts(at_place(1, 1), lines="a\x1b[2J\n").splitlines()[2] == r"1 | a\x1b[2J"


def test_many_alike_are_folded_by_rule() -> None:
    many = [at_place(1, 1, f"wrong {number:02}") for number in range(MOST_ALIKE + 7)]
    lines = excerpts(*many, at_place(1, 1, "other", "another")).splitlines()
    assert [line for line in lines if "[rule]" in line] == [str(each) for each in many[:MOST_ALIKE]]
    assert lines[0] == "job.yaml:1:1: other [another]"
    assert lines[-1] == "7 more problems of the rule rule; pipe the output to see all problems"

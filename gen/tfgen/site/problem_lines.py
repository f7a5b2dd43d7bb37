"""Adds the text of the affected line to each problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tfgen.problems import Problem
from tfgen.site.facts import ProblemLine


def problem_lines(problems: Iterable[Problem]) -> Iterator[ProblemLine]:
    """Yield each problem with the text of its line in the file. Read each file once."""
    lines: dict[str, list[str]] = {}
    for problem in problems:
        if problem.file not in lines:
            lines[problem.file] = _read(problem.file)
        number = problem.position.line - 1
        of_file = lines[problem.file]
        yield ProblemLine(problem, of_file[number] if number < len(of_file) else "")


def _read(file: str) -> list[str]:
    try:
        return Path(file).read_bytes().decode("utf-8-sig", errors="replace").splitlines()
    except (OSError, ValueError):
        return []

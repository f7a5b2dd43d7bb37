"""A pytest plugin that prints the tests that did not run, the reason, and the command that runs these tests."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class NotRun:
    """The plugin, which prints the summary at the end of a run."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        reasons = [_reason(report) for report in terminalreporter.stats.get("skipped", ())]
        lines = [*summarize(reasons, config.option.markexpr)]
        if lines:
            terminalreporter.section("tests that did not run")
        for line in lines:
            terminalreporter.write_line(line)


def summarize(reasons: Iterable[str], marks: str) -> Iterator[str]:
    """Yield a line for each reason with the number of its tests, and a line for the tiers that marks leave out."""
    count = Counter(reasons)
    for reason, number in count.most_common():
        yield f"{number:5}  {reason}"
    if any("`make " in reason for reason in count):
        yield "       Run the command that a line names, then this one again."
    tiers = re.findall(r"\bnot (\w+)", marks)
    if tiers:
        yield f"       Commands of the other tests: {', '.join(f'make {tier}' for tier in sorted(tiers))}"


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")

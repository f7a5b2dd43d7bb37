"""A pytest plugin that prints each failure when the failure occurs.

pytest prints the names of failed tests at the end of a run. A run that a time limit stops has no end.
"""

from __future__ import annotations

import pytest


class Failures:
    """The plugin, which prints the failures of one run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Workers of pytest-xdist report to the process that started them. Only this process has a terminal.
        terminal = self._config.pluginmanager.getplugin("terminalreporter")
        if report.failed and terminal and not hasattr(self._config, "workerinput"):
            terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}): {_first_line(report)}", red=True)


def _first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return text.splitlines()[0] if text else ""

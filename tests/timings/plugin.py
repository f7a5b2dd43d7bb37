"""A pytest plugin that records the time of each test, and of each start of a server.

Processor time includes the process of the test, and each program that the test started and waited for.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Generator
from typing import Final

import pytest

from tests.timings.record import Duration, append
from tests.timings.table import tier_of

_CPU: Final = "processor seconds"
_START: Final = "start of "

_GROUP: Final = re.compile(r"@[\w-]+$")
"""The group that pytest-xdist appends to the name of a test."""

_starts: list[tuple[str, float]] = []


def record_start(server: str, wall_s: float) -> None:
    """Record the time that the start of a server took in the current test."""
    _starts.append((server, wall_s))


class Timings:
    """The plugin, which records one run of pytest."""

    def __init__(self) -> None:
        self._cpu_s = 0.0
        self._tests: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._servers: list[Duration] = []

    def pytest_runtest_logstart(self) -> None:
        self._cpu_s = _processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self._cpu_s = self._cpu_s, _processor_time()
        # Workers of pytest-xdist send the properties to the process that started them.
        report.user_properties.append((_CPU, self._cpu_s - before))
        report.user_properties += [(_START + name, wall_s) for name, wall_s in _starts]
        _starts.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = _GROUP.sub("", report.nodeid)
        times = self._tests[name, tier_of(name, report.keywords)]
        times[0] += report.duration
        for key, value in report.user_properties:
            if key == _CPU:
                times[1] += float(str(value))
            elif key.startswith(_START):
                self._servers.append(Duration("server", key.removeprefix(_START), float(str(value))))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            tests = self._tests.items()
            append(Duration("test", name, wall_s, cpu_s, tier) for (name, tier), (wall_s, cpu_s) in tests)
            append(self._servers)


def _processor_time() -> float:
    return sum(os.times()[:4])

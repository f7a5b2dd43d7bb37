"""The option `--again`: leave out the tests that the previous run completed with all the tools that they use.

CI runs all tests twice: as a new contributor, and with all tools. A test that was not skipped, and that did not use
Helm's library in place of Helm, has no new result in the second run. If a fixture used the library, the second run
includes all tests of the file, because the tests may share the fixture. A test with the mark `may_skip` needs something
outside the repository, and would skip again. `--again` leaves out no test of `make long`, because the previous run was
`make test`, which does not run these tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

CACHE_KEY = "tfgen/without-want"
PROPERTY = "wants a tool"

_wanting = False


def want() -> None:
    """Record that the current test would use a missing tool."""
    global _wanting
    _wanting = True


class Again:
    """The pytest plugin of one run."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.wanting: set[str] = set()  # node ids of tests, and paths of files

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        global _wanting
        report = yield
        if _wanting or (report.skipped and not item.get_closest_marker("may_skip")):
            report.user_properties.append((PROPERTY, True))
        _wanting = False
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid
        self.ran.add(test)
        if any(name == PROPERTY for name, _ in report.user_properties):
            self.wanting.add(_file(test) if report.when == "setup" and report.passed else test)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not config.option.again:
            return
        cache = _cache(config)
        if cache is None:
            raise pytest.UsageError("--again needs pytest's cache")
        done = set(cache.get(CACHE_KEY, []))
        chosen: list[pytest.Item] = []
        left_out: list[pytest.Item] = []
        for item in items:
            (left_out if item.nodeid in done and not item.get_closest_marker("long") else chosen).append(item)
        items[:] = chosen
        config.hook.pytest_deselected(items=left_out)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        # A process of pytest-xdist sees only its own tests. The process that started pytest-xdist sees all tests.
        cache = _cache(config)
        if cache is not None and not (hasattr(config, "workerinput") or config.option.again):
            cache.set(CACHE_KEY, sorted(test for test in self.ran if not {test, _file(test)} & self.wanting))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _cache(config: pytest.Config) -> pytest.Cache | None:
    """Return pytest's cache; the option `-p no:cacheprovider` removes the cache."""
    return getattr(config, "cache", None)

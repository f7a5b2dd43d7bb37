"""The option `--again`: run only the tests that the previous run skipped, and the tests of `make long`.

CI runs the tests of `make test` as a new contributor, without tools, and then with all tools. A test that was not
skipped has no new result in the second run. `make test` does not run the tests of `make long`.
"""

from __future__ import annotations

import pytest

CACHE_KEY = "tfgen/not-skipped"


class Again:
    """The pytest plugin of one run."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran.add(report.nodeid)
        if report.skipped:
            self.skipped.add(report.nodeid)

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
            cache.set(CACHE_KEY, sorted(self.ran - self.skipped))


def _cache(config: pytest.Config) -> pytest.Cache | None:
    """Return pytest's cache; the option `-p no:cacheprovider` removes the cache."""
    return getattr(config, "cache", None)

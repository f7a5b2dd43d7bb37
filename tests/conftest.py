"""Settings of all tests: the profile of hypothesis, the tier of each test, and the runs in which no test may skip."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import hypothesis
import pytest

from tests.support.again import Again
from tests.support.draws import bound_shrinking, load_profile
from tests.support.failures import Failures
from tests.support.not_run import NotRun
from tests.support.repository import GIT_SETTINGS
from tests.timings.plugin import Timings
from tfgen.tree import cache

if TYPE_CHECKING:
    from collections.abc import Generator

    from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

E2E = "e2e"
TIERS = ("train", E2E)
"""The folders of tests that need more than pip; a test there has the marker of the same name."""

# A git hook that runs the tests exports the variables of its repository, and each git that a test starts inherits them.
for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"):
    os.environ.pop(name, None)
os.environ.update(GIT_SETTINGS)

# Python writes compiled modules to disk, as for a user. Without these files, each `tfgen` that a test starts compiles
# 300 modules first.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

load_profile()


@pytest.fixture(autouse=True, scope="session")
def _no_repository_above(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let git find no repository above the folders of the tests."""
    os.environ["GIT_CEILING_DIRECTORIES"] = str(tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test an empty cache, separate from the cache of the developer."""
    own = tmp_path_factory.getbasetemp() / f"cache-{uuid4().hex}"
    monkeypatch.setattr(cache, "folder", lambda: own)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="let a skipped test fail, unless it is marked may_skip")
    parser.addoption(
        "--again", action="store_true", help="run only the tests that the previous run skipped, and the long tests"
    )
    parser.addoption("--golden-update", action="store_true", help="write the expected files instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Again())
    config.pluginmanager.register(Timings())
    config.pluginmanager.register(NotRun())
    config.pluginmanager.register(Failures(config))
    # A run of the tests on real servers must skip none of these tests.
    if os.environ.get("CI") and config.option.markexpr.startswith(E2E):
        config.option.no_skips = True


def pytest_sessionstart() -> None:
    # The plugin of hypothesis has applied the option --hypothesis-profile before this hook.
    bound_shrinking(hypothesis.settings.get_current_profile_name())


@pytest.hookimpl(optionalhook=True)  # pytest-xdist calls the hook
def pytest_configure_node(node: WorkerController) -> None:
    """Discard each command to a worker that has died.

    pytest-xdist can send a command before the event of the worker's death arrives. The error of the send would end the
    run without the name of the test that was running. The event names the test, and returns the worker's other tests.
    """
    send = node.sendcommand

    def send_to_living_worker(name: str, **options: object) -> None:
        with contextlib.suppress(OSError):
            send(name, **options)

    node.sendcommand = send_to_living_worker


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # The modules that tests/e2e imports exist only where `make e2e` has installed them.
    leaves_out = f"not {E2E}" in config.option.markexpr
    return True if leaves_out and collection_path == Path(__file__).parent / E2E else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    for item in items:
        tier = item.path.relative_to(tests).parts[0]
        if tier in TIERS:
            item.add_marker(tier)


def pytest_collection_finish() -> None:
    # With the default threshold, the collector takes a tenth of the processor time, and visits all test modules.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not item.get_closest_marker("may_skip"):
        _refuse_skip(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report, collector.config)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    """Turn a skip into a failure under --no-skips. pytest also reports an expected failure as a skip: keep this one."""
    if report.skipped and not hasattr(report, "wasxfail") and config.getoption("--no-skips"):
        _, _, reason = report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, str(report.longrepr))
        report.outcome = "failed"
        report.longrepr = f"--no-skips: {reason}"

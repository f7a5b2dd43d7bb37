"""Headless Chromium for the tests of the folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before the hook of xdist, which reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="module")  # the event loop of Playwright ends before tests of another module start
def chromium() -> Iterator[Browser]:
    """Start the browser of Debian's package."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium on PATH; make e2e installs the package")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()

"""axe finds no violation on the pages of `tfgen site` and of the documentation, in each theme and on a phone.

The pages of `tfgen site` follow all rules of axe, and the pages of the documentation the rules of WCAG 2.2 AA.
https://github.com/dequelabs/axe-core/blob/develop/doc/rule-descriptions.md lists the rules.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ViewportSize

from tests.e2e.client import PATIENCE
from tests.support.command import Command
from tests.support.tools import ROOT
from tfgen import cli

PREFORMATTED = re.compile(r"<pre>.*?</pre>", re.DOTALL)
WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
Scheme: TypeAlias = Literal["light", "dark"]
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

PAGES_OF_SITE = ("index.html", "jobs/dist-mnist.html", "jobs/pong.html")
PAGES_OF_DOCUMENTATION = ("index.html", "docs/tutorial.html")

views = pytest.mark.parametrize(
    ("viewport", "scheme"),
    [
        pytest.param(DESKTOP, "light", id="desktop-light"),
        pytest.param(PHONE, "dark", id="phone-dark"),
        pytest.param(DESKTOP, "dark", id="desktop-dark", marks=pytest.mark.nightly),
        pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.nightly),
    ],
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Render the site of all examples and of a job with an error."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "examples", folder / "examples")
    broken = folder / "examples" / "pong" / "job.yaml"
    assert cli.run(["init", "pong", "--out", str(folder / "examples")]) == cli.OK
    broken.write_text(broken.read_text(encoding="utf-8").replace("replicas: 4", "replica: 4"), encoding="utf-8")
    out = folder / "site"
    assert cli.run(["site", str(folder / "examples"), "--out", str(out)]) == cli.PROBLEMS
    return out


@pytest.fixture(scope="module")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the documentation site like `make docs`."""
    folder = tmp_path_factory.mktemp("documentation")
    mkdocs = (sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder)
    Command(mkdocs, cwd=ROOT, env={"NO_MKDOCS_2_WARNING": "1"}).run()
    return folder


@views
@pytest.mark.parametrize("page", PAGES_OF_SITE)
def test_a_page_of_the_site_has_no_violation(
    chromium: Browser, site: Path, page: str, viewport: ViewportSize, scheme: Scheme
) -> None:
    assert violations(chromium, site / page, viewport, scheme) == ""


@views
@pytest.mark.parametrize("page", PAGES_OF_DOCUMENTATION)
def test_a_page_of_the_documentation_has_no_violation(
    chromium: Browser, documentation: Path, page: str, viewport: ViewportSize, scheme: Scheme
) -> None:
    assert violations(chromium, documentation / page, viewport, scheme, tags=WCAG) == ""


def violations(chromium: Browser, file: Path, viewport: ViewportSize, scheme: Scheme, tags: Sequence[str] = ()) -> str:
    """Return the report of axe about a page, or an empty text for a page without violations.

    Args:
        chromium: The browser.
        file: The page.
        viewport: The size of the window.
        scheme: The color scheme.
        tags: The tags of the rules; by default, axe checks all rules.
    """
    with chromium.new_page(viewport=viewport, color_scheme=scheme) as page:
        page.goto(file.as_uri(), timeout=PATIENCE * 1000)
        results = Axe().run(page, options={"resultTypes": ["violations"], **({"runOnly": [*tags]} if tags else {})})
    return str(results.generate_report()) if results.violations_count else ""

"""The site of 1,000 jobs in headless Chromium."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.tools import ROOT
from tfgen.check.jobs import check_all
from tfgen.job.sources import read_sources
from tfgen.site.facts import Site
from tfgen.site.job_facts import job_facts
from tfgen.site.pages import pages

JOBS = 1000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of 1,000 jobs with three environments each. Job N has 5 + N pods in its first environment."""
    (document,) = check_all(read_sources([ROOT / "examples" / "dist-mnist"])).documents
    facts = job_facts(document, (), (), ())
    first, *following = facts.environments
    folder = tmp_path_factory.mktemp("site")
    jobs = [
        facts.replaced(
            name=f"job-{number:04}",
            environments=(first.replaced(requests=first.requests.replaced(pods=5 + number)), *following),
        )
        for number in range(JOBS)
    ]
    for path, text in pages(Site("research", tuple(jobs))):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def shown_rows(site: Path, query: str) -> list[list[str]]:
    """Return the first three cells of each visible row, after the scripts of the page have run."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on PATH; make e2e installs the package")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000", "--dump-dom")
    page = Command((chromium, *options, f"{(site / 'index.html').as_uri()}{query}"), env={"HOME": str(site)}).run()
    rows = re.findall(r"<tr(?: class=\"\w+\")?>\s*(<th scope=\"row\"><a .*?)</tr>", page, re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
    return [[unescape(re.sub("<.*?>", "", cell)).strip() for cell in (*row[:2], row[6])] for row in cells]


def test_all_jobs_are_shown(site: Path) -> None:
    rows = shown_rows(site, "")
    assert len(rows) == 3 * JOBS
    assert rows[0] == ["job-0000", "dev", "5"]


def test_a_search_shows_the_rows_with_all_words(site: Path) -> None:
    assert [row[:2] for row in shown_rows(site, "?q=0042+PROD")] == [["job-0042", "prod"]]


def test_a_column_of_numbers_is_sorted_by_number(site: Path) -> None:
    """The column of pods is the seventh. As texts, 1004 would be smaller than 12."""
    rows = shown_rows(site, "?q=dev&sort=-6")
    assert [row[2] for row in rows[:3]] == ["1004", "1003", "1002"]
    assert shown_rows(site, "?q=dev&sort=6")[0] == ["job-0000", "dev", "5"]

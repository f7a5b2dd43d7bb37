"""The site of 1,000 jobs in headless Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.client import PATIENCE
from tests.support.tools import ROOT
from tfgen.check.jobs import check_all
from tfgen.job.sources import read_sources
from tfgen.site.pages import pages
from tfgen.site.read_jobs import JobInput, Site, job_facts

JOBS = 1000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the index of 1,000 jobs with three environments each. Job N has 5 + N pods in its first environment."""
    (document,) = check_all(read_sources([ROOT / "examples" / "dist-mnist"])).documents
    facts = job_facts(JobInput(document, (), (), is_in_git=False, changed_files=0))
    first, *following = facts.environments
    folder = tmp_path_factory.mktemp("site")
    jobs = [
        facts.replaced(
            name=f"job-{number:04}",
            environments=(first.replaced(requests=first.requests.replaced(pods=5 + number)), *following),
        )
        for number in range(JOBS)
    ]
    index = next(pages(Site("research", tuple(jobs))))
    for path, text in (*pages(Site("research", ())), index):  # without the pages of the jobs, which no test opens
        (folder / path).write_text(text, encoding="utf-8")
    return folder


ROWS = """
() => [...document.querySelectorAll("#table tbody tr")].filter(row => row.checkVisibility())
  .map(row => [0, 1, 6].map(column => row.cells[column].textContent.trim()))
"""


def shown_rows(chromium: Browser, site: Path, query: str) -> list[list[str]]:
    """Return the job, the environment and the pods of each visible row."""
    with chromium.new_page() as page:
        page.goto(f"{(site / 'index.html').as_uri()}{query}", timeout=PATIENCE * 1000)
        rows: list[list[str]] = page.evaluate(ROWS)
    return rows


def test_all_jobs_are_shown(chromium: Browser, site: Path) -> None:
    rows = shown_rows(chromium, site, "")
    assert len(rows) == 3 * JOBS
    assert rows[0] == ["job-0000", "dev", "5"]


def test_a_search_shows_the_rows_with_all_words(chromium: Browser, site: Path) -> None:
    assert [row[:2] for row in shown_rows(chromium, site, "?q=0042+PROD")] == [["job-0042", "prod"]]


def test_a_column_of_numbers_is_sorted_by_number(chromium: Browser, site: Path) -> None:
    """The column of pods is the seventh. As texts, 1004 would be smaller than 12."""
    rows = shown_rows(chromium, site, "?q=dev&sort=-6")
    assert [row[2] for row in rows[:3]] == ["1004", "1003", "1002"]
    assert shown_rows(chromium, site, "?q=dev&sort=6")[0] == ["job-0000", "dev", "5"]

"""Collects the jobs with errors for the site, each with the problems and the name of the job's page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tfgen.check.checked import Checked
from tfgen.site.facts import BrokenJob
from tfgen.site.problem_lines import problem_lines

_PAGE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
"""Pattern of job names that are valid file names on every operating system."""
_UNNAMED: Final = "file"


def broken_jobs(jobs: Checked, pages: Iterable[str]) -> Iterator[BrokenJob]:
    """Yield the jobs with errors in their job file or in a layer. A layer is a tfgen.yaml with defaults for jobs.

    Args:
        jobs: the checked files.
        pages: the names of the pages of the jobs without errors.
    """
    taken = {*pages}
    whole = {file.source.file for file in jobs.valid_files}
    for file in jobs.files:
        if file.source.file in whole:
            continue
        files = {file.source.file, *(layer.file for layer in file.source.layers())}
        problems = tuple(problem_lines(problem for problem in jobs.problems if problem.file in files))
        for name in file.result.names or ("",):
            page = _free_page(name if _PAGE.fullmatch(name) else _UNNAMED, taken)
            taken.add(page)
            yield BrokenJob(name or file.source.file, file.source.file, page, problems)


def _free_page(name: str, taken: set[str]) -> str:
    """Return a name for a page that no other page has: `name`, or `name` with an added number."""
    page, number = name, 1
    while page in taken:
        number += 1
        page = f"{name}-{number}"
    return page

"""The files of the site: an index, a page and a picture for each job, a style sheet and a script.

No page loads anything from another server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import jinja2

from tfgen.check.totals import amount
from tfgen.site.facts import JobFacts, total
from tfgen.site.sums import sum_tables

_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=jinja2.StrictUndefined,
    autoescape=jinja2.select_autoescape(("html.j2",)),
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters["amount"] = lambda value, resource: amount(resource, value)

INDEX: Final = "index.html"
MARK: Final = '<meta name="generator" content="tfgen site">'
"""The line of index.html by which `tfgen site` recognizes a folder that it may replace."""


def pages(jobs: Sequence[JobFacts], title: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file, for jobs in the order of their names."""
    environments = [environment for job in jobs for environment in job.environments if environment.is_enabled]
    index = _TEMPLATES.get_template("index.html.j2")
    requests = total(environment.requests for environment in environments)
    yield INDEX, index.render(title=title, jobs=jobs, sums=sum_tables(jobs), total=requests, mark=MARK)
    page = _TEMPLATES.get_template("job.html.j2")
    for job in jobs:
        yield f"jobs/{job.name}.html", page.render(title=title, job=job, mark=MARK)
        yield f"jobs/{job.name}.svg", job.picture
    for name in ("style.css", "site.js"):
        yield name, (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")

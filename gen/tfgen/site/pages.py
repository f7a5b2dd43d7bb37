"""Writes the files of the site: an index, a page and a picture for each job, a style sheet and a script.

No page loads anything from another server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2

from tfgen.kubernetes.pods import amount
from tfgen.record import Record
from tfgen.site.read_jobs import EnvironmentFacts, JobFacts, Requests, Site, total


class Sum(Record):
    """A row of a table of sums, such as the row of one team.

    The row has the sum of the requests of all enabled environments with the same key.

    Attributes:
        key: the value in the first column, such as the name of a team. In a table by queue, the key is empty for
            environments without a queue.
        jobs: number of jobs with environments in this row.
    """

    key: str
    jobs: int
    requests: Requests


_KEYS: Final[Sequence[tuple[str, Callable[[JobFacts, EnvironmentFacts], str]]]] = (
    ("Team", lambda job, _: job.team),
    ("Queue", lambda _, environment: environment.queue),
    ("Cluster", lambda _, environment: environment.cluster),
    ("Environment", lambda _, environment: environment.name),
)


def sum_tables(jobs: Iterable[JobFacts]) -> dict[str, list[Sum]]:
    """Return four tables of the requests in the enabled environments of all jobs, by the title of the table.

    The tables have the sums by team, by queue, by cluster and by environment. The rows are sorted by key.
    """
    enabled = [(job, environment) for job in jobs for environment in job.environments if environment.is_enabled]
    tables: dict[str, list[Sum]] = {}
    for title, key_of in _KEYS:
        rows: dict[str, list[tuple[JobFacts, EnvironmentFacts]]] = {}
        for job, environment in enabled:
            rows.setdefault(key_of(job, environment), []).append((job, environment))
        tables[title] = [
            Sum(key, len({job.name for job, _ in of_key}), total(environment.requests for _, environment in of_key))
            for key, of_key in sorted(rows.items())
        ]
    return tables


_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=jinja2.StrictUndefined,
    autoescape=jinja2.select_autoescape(("html.j2",)),
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters["amount"] = lambda value, resource: "" if value is None else amount(resource, value)

INDEX: Final = "index.html"
MARK: Final = '<meta name="generator" content="tfgen site">'
"""The line in index.html that marks a site of tfgen. `tfgen site` replaces only a folder with this line."""


def pages(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of the site."""
    environments = [environment for job in site.jobs for environment in job.environments if environment.is_enabled]
    requests = total(environment.requests for environment in environments)
    yield INDEX, _render("index", site, sums=sum_tables(site.jobs), total=requests)
    for job in site.jobs:
        yield f"jobs/{job.name}.html", _render("job", site, job=job)
        yield f"jobs/{job.name}.svg", job.picture
    for broken in site.broken:
        yield f"jobs/{broken.page}.html", _render("broken", site, job=broken)
    for name in ("style.css", "site.js"):
        yield name, (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _render(name: str, site: Site, **facts: Any) -> str:
    return _TEMPLATES.get_template(f"{name}.html.j2").render(site=site, title=site.title, mark=MARK, **facts)

"""Writes the files of the site: an index, a page and a picture for each job, a style sheet and a script.

No page loads anything from another server.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jinja2

from tfgen.kubernetes.pods import amount
from tfgen.site.facts import Site, total
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

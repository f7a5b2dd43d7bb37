"""Bar charts of tfgen, Helm and kustomize as an SVG: one job in milliseconds, many jobs in seconds.

The scale of many jobs is logarithmic, because the longest bar is hundreds of times as long as the shortest bar. The
colors follow the light or dark scheme of the reader.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from tests.bench.page import as_printed, time_text
from tests.bench.plot import STYLE
from tests.bench.results import Row

_LABEL, _BAR, _NUMBER, _LINE, _HEADER = 390, 420, 110, 24, 34

_STYLE = """\
  .ours { fill: #0969da; }
  .peer { fill: #afb8c1; }
  @media (prefers-color-scheme: dark) {
    .ours { fill: #4493f8; }
    .peer { fill: #656c76; }
  }"""

ONE_JOB, MANY_JOBS = "helm template", "helm template and kustomize build"
"""The peers of the two charts, with their names in the table."""


def bars(rows: Sequence[Row]) -> str:
    """Return the SVG with a chart for each of the two peers. Edited and uncached jobs precede cached jobs."""
    charts = [
        ("One job: time of a command", [row for row in rows if row.peer[0] == ONE_JOB], False),
        ("Many jobs: time of a command, logarithmic scale", [row for row in rows if row.peer[0] == MANY_JOBS], True),
    ]
    parts: list[str] = []
    top = 0
    for title, members, logarithmic in charts:
        if not members:
            continue
        lines = [*_lines(members)]
        parts += [f'<g transform="translate(0 {top})">', *_chart(title, lines, logarithmic), "</g>"]
        top += _HEADER + _LINE * len(lines) + 16
    width = _LABEL + _BAR + _NUMBER
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
            'role="img" aria-label="Times of tfgen, Helm and kustomize. The table below has the numbers.">',
            f"<style>\n{STYLE}\n{_STYLE}\n</style>",
            *parts,
            "</svg>\n",
        ]
    )


def _lines(rows: Sequence[Row]) -> Iterator[tuple[str, str, float]]:
    """Yield the label, the CSS class and the printed seconds of each bar: the rows of tfgen, and then the peer."""
    for row in sorted(rows, key=lambda row: "cached" in row.title or "nothing to do" in row.title):
        yield row.title, "ours", as_printed(row.ours)
    peer, seconds = max((row.peer for row in rows), key=lambda peer: peer[1])
    yield peer, "peer", as_printed(seconds)


def _chart(title: str, lines: Sequence[tuple[str, str, float]], logarithmic: bool) -> Iterator[str]:
    """Yield the elements of a chart. A logarithmic scale starts at a power of ten below the shortest bar."""
    longest = max(seconds for _, _, seconds in lines)
    start = math.floor(math.log10(min(seconds for _, _, seconds in lines)))
    yield f'<text class="title" x="0" y="18">{escape(title)}</text>'
    for number, (label, kind, seconds) in enumerate(lines):
        y = _HEADER + _LINE * number
        share = (math.log10(seconds) - start) / (math.log10(longest) - start) if logarithmic else seconds / longest
        length = round(max(share, 0.005) * _BAR, 1)
        text = escape(label.replace("`", ""))
        yield f'<text class="small" x="{_LABEL - 10}" y="{y + 13}" text-anchor="end">{text}</text>'
        yield f'<rect class="{kind}" x="{_LABEL}" y="{y + 2}" width="{length}" height="{_LINE - 8}" rx="2"/>'
        yield f'<text class="small" x="{_LABEL + length + 8:.1f}" y="{y + 13}">{time_text(seconds)}</text>'

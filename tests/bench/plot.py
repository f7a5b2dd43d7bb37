"""The plot: time and memory against the number of jobs, of workers and of environments, as an SVG.

Both scales of a panel are logarithmic: along the broken line, twice the number costs twice as much. The colors follow
the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tests.bench.results import Point, Results

_WIDTH, _HEIGHT = 250, 170
_LEFT, _TOP, _GAP_X, _GAP_Y = 64, 44, 64, 62

STYLE = """\
  text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; }
  .small { font-size: 11px; fill: #59636e; }
  .grid { stroke: #d1d9e0; }
  .slope { stroke: #59636e; stroke-dasharray: 3 4; }
  .line { stroke: #0969da; stroke-width: 2; fill: none; }
  .dot { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    .slope { stroke: #9198a1; }
    .line { stroke: #4493f8; }
    .dot { fill: #4493f8; }
  }"""


class Panel(NamedTuple):
    """Panel of the plot, which has six panels."""

    title: str
    unit: str
    points: Sequence[tuple[float, float]]


def plot(results: Results) -> str:
    """Return the SVG with columns for jobs, workers and environments. Each column has the time above the memory."""
    columns = {"jobs": results.jobs, "workers": results.workers, "environments": results.environments}
    width = _LEFT + len(columns) * (_WIDTH + _GAP_X)
    height = _TOP + 2 * (_HEIGHT + _GAP_Y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="Time and memory of tfgen render against jobs, workers and environments">',
        f"<style>\n{STYLE}\n</style>",
    ]
    for column, (name, points) in enumerate(columns.items()):
        for row, panel in enumerate(_panels(name, points)):
            x, y = _LEFT + column * (_WIDTH + _GAP_X), _TOP + row * (_HEIGHT + _GAP_Y)
            parts += [f'<g transform="translate({x} {y})">', *_drawn(panel), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panels(name: str, points: Sequence[Point]) -> tuple[Panel, Panel]:
    return (
        Panel(f"seconds for {name}", "s", [(point.number, point.cost.seconds) for point in points]),
        Panel(f"MiB for {name}", "MiB", [(point.number, point.cost.memory) for point in points]),
    )


def _drawn(panel: Panel) -> list[str]:
    """Return the elements of a panel, whose lower left corner is at (0, _HEIGHT)."""
    xs, ys = zip(*panel.points, strict=True)
    left, right = math.log10(min(xs)), math.log10(max(xs))
    low, high = (
        math.floor(math.log10(min(ys))),
        max(math.ceil(math.log10(max(ys))), math.floor(math.log10(min(ys))) + 1),
    )
    lines = [f'<text class="title" x="0" y="-14">{panel.title}</text>']

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - left) / ((right - left) or 1)
        up = (math.log10(y) - low) / (high - low)
        return round(across * _WIDTH, 1), round(_HEIGHT * (1 - up), 1)

    for power in range(low, high + 1):
        _, y = place(xs[0], 10**power)
        lines.append(f'<line class="grid" x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}"/>')
        lines.append(f'<text class="small" x="-8" y="{y + 4}" text-anchor="end">{10**power:g}</text>')
    for x in xs:
        across, _ = place(x, ys[0])
        lines.append(f'<line class="grid" x1="{across}" x2="{across}" y1="0" y2="{_HEIGHT}"/>')
        lines.append(f'<text class="small" x="{across}" y="{_HEIGHT + 18}" text-anchor="middle">{_count(x)}</text>')
    lines.append(_slope(place(xs[0], ys[0]), _WIDTH / ((right - left) or 1), _HEIGHT / (high - low)))
    places = [place(x, y) for x, y in panel.points]
    lines.append(f'<polyline class="line" points="{" ".join(f"{x},{y}" for x, y in places)}"/>')
    lines += (f'<circle class="dot" cx="{x}" cy="{y}" r="3.5"/>' for x, y in places)
    return lines


def _slope(start: tuple[float, float], decade_x: float, decade_y: float) -> str:
    """Return the broken line for a cost in proportion to the number, from the first point to the edge of the panel."""
    decades = min((_WIDTH - start[0]) / decade_x, start[1] / decade_y)
    x, y = start[0] + decades * decade_x, start[1] - decades * decade_y
    return f'<line class="slope" x1="{start[0]}" y1="{start[1]}" x2="{x:.1f}" y2="{y:.1f}"/>'


def _count(number: float) -> str:
    return f"{number / 1000:g}k" if number >= 1000 else f"{number:g}"

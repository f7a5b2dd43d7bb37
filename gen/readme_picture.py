"""Draw docs/readme.svg: the job.yaml of README.md on the left, and the picture of the job in `prod` on the right.

`make pictures` runs this module.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Final

from tfgen.check.jobs import check
from tfgen.pictures.describe import describe
from tfgen.pictures.svg import as_svg

ROOT: Final = Path(__file__).parents[1]
PICTURE: Final = ROOT / "docs" / "readme.svg"

_BLOCK: Final = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SIZE: Final = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
_LINE, _TOP, _LEFT, _PAD = 20, 24, 24, 14
_CHARACTER: Final = 7.3  # width of a character of a monospace font at 12 px
_STYLE: Final = """\
  .code { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; fill: #1f2328; }
  .key { fill: #0550ae; }
  .head { font: 600 17px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
  .sheet { fill: #ffffff; stroke: #d1d9e0; }
  @media (prefers-color-scheme: dark) {
    .code, .head { fill: #f0f6fc; }
    .key { fill: #79c0ff; }
    .sheet { fill: #0d1117; stroke: #3d444d; }
  }"""


def readme_picture(readme: str) -> str:
    """Return the picture of the first job in the text of README.md, as SVG.

    Raises:
        ValueError: README.md has no job, or the job has errors.
    """
    block = _BLOCK.search(readme)
    if block is None:
        raise ValueError("README.md has no YAML block")
    (document,) = check(block[1], "README.md").documents
    job = as_svg(describe(document, "prod"))
    size = _SIZE.search(job)
    if size is None:
        raise ValueError("the picture of the job has no size")
    lines = block[1].splitlines()
    sheet = max(map(len, lines)) * _CHARACTER + 2 * _PAD
    width, height = _LEFT + sheet + float(size[1]), float(size[2])
    label = f"A job.yaml of {len(lines)} lines, and the tasks, hosts, gang and volumes of the job in prod"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{label}">',
        f"<style>\n{_STYLE}\n</style>",
        f'<rect class="sheet" x="{_LEFT}" y="{_TOP}" width="{sheet:g}" height="{height - 2 * _TOP:g}" rx="8"/>',
        f'<text class="head" x="{_LEFT + _PAD}" y="{_TOP + 28}">job.yaml</text>',
        *(_code(line, _TOP + 60 + number * _LINE) for number, line in enumerate(lines)),
        job.replace("<svg ", f'<svg x="{_LEFT + sheet:g}" ', 1).rstrip(),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _code(line: str, y: int) -> str:
    """Return a line of YAML with the keys in a color."""
    text = re.sub(r"([\w.]+:)(?= |$)", r'<tspan class="key">\1</tspan>', escape(line))
    return f'<text class="code" x="{_LEFT + _PAD}" y="{y}" xml:space="preserve">{text}</text>'


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(readme_picture((ROOT / "README.md").read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

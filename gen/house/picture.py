"""The rooms as an SVG: a row for each room, the highest first, and a dot for each imported room.

Every dot is right of the stairs, because a room imports only lower rooms. The colours follow the reader's light or dark
scheme.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

from house.rooms import Room

_ROW = 26
_LEFT = 118
_GRID = 560
_COLUMN = 26
_TOP = 120

_STYLE = """\
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
  .room { font-weight: 600; }
  .small { font-size: 11px; fill: #59636e; }
  .box { fill: #ddf4ff; stroke: #0969da; }
  .stair { fill: #eff2f5; }
  .dot { fill: #0969da; }
  .line { stroke: #d1d9e0; }
  .arrow { stroke: #59636e; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .box { fill: #121d2f; stroke: #4493f8; }
    .stair { fill: #212830; }
    .dot { fill: #4493f8; }
    .line { stroke: #3d444d; }
    .arrow { stroke: #9198a1; }
  }"""

_FLOW = ("text", "schema", "job", "graph", "targets", "tree", "git")


def picture(rooms: Sequence[Room], arrows: Collection[tuple[str, str]]) -> str:
    """Return the SVG of the rooms.

    Args:
        rooms: rooms, the highest first.
        arrows: pairs of an importing room and an imported room.
    """
    width, height = _GRID + _COLUMN * len(rooms) + 16, _TOP + _ROW * len(rooms) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="The rooms of tfgen and which imports which">',
        f"<style>\n{_STYLE}\n</style>",
        *_flow(),
        *_stairs(rooms),
        *(line for index, room in enumerate(rooms) for line in _row(index, room, rooms, arrows)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _flow() -> list[str]:
    lines = ['<text class="small" x="12" y="18">A job flows through</text>']
    x = 12
    for index, name in enumerate(_FLOW):
        box = 16 + 8 * len(name)
        lines.append(f'<rect class="box" x="{x}" y="28" width="{box}" height="24" rx="5"/>')
        lines.append(f'<text x="{x + box / 2:g}" y="45" text-anchor="middle">{name}</text>')
        x += box
        if index < len(_FLOW) - 1:
            lines.append(f'<path class="arrow" d="M{x + 3} 40h14m-5 -4l5 4l-5 4"/>')
            x += 20
    lines.append(
        '<text class="small" x="12" y="84">Each room imports only rooms below it: every dot is right of the '
        "stairs.</text>"
    )
    return lines


def _stairs(rooms: Sequence[Room]) -> list[str]:
    return [
        f'<rect class="stair" x="{_GRID}" y="{_TOP + _ROW * index}" width="{_COLUMN * (index + 1)}" height="{_ROW}"/>'
        for index in range(len(rooms))
    ]


def _row(index: int, room: Room, rooms: Sequence[Room], arrows: Collection[tuple[str, str]]) -> list[str]:
    y = _TOP + _ROW * index
    x = _GRID + _COLUMN * index + _COLUMN / 2
    lines = [
        f'<path class="line" d="M12 {y}H{_GRID + _COLUMN * len(rooms)}"/>',
        f'<text class="room" x="12" y="{y + 18}">{room.name}</text>',
        f'<text class="small" x="{_LEFT}" y="{y + 18}">{escape(room.purpose)}</text>',
        f'<text class="small" transform="translate({x + 4:g} {_TOP - 6}) rotate(-60)">{room.name}</text>',
    ]
    for column, imported in enumerate(rooms):
        if room != imported and (room.name, imported.name) in arrows:
            lines.append(
                f'<circle class="dot" cx="{_GRID + _COLUMN * column + _COLUMN / 2:g}" cy="{y + _ROW / 2:g}" r="5"/>'
            )
    return lines

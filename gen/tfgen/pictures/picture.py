"""The picture of a job: records that describe the picture, and the picture as JSON, as Mermaid and as SVG.

The records have no colours or coordinates. The formats read only the records, so all formats show the same content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from tfgen.record import Record
from tfgen.words import count, either


class Tasks(Record):
    """The equal tasks of one role.

    Attributes:
        role: chief, ps, worker or evaluator.
        count: number of tasks.
        devices: GPUs of one task, such as "1 NVIDIA-T4"; empty without GPUs.
        resources: CPU and memory that one task requests, such as "4 CPU, 8Gi".
        controller: kind and name of the object that creates the pods of the tasks.
        hosts: host names and port of the tasks, such as "mnist-worker-{0..3}.mnist:2222"; empty if an operator chooses
            the host names.
        start: the event that starts the tasks, as text, such as "with the gang".
        in_gang: whether the scheduler starts the tasks together with the tasks of other roles.
        ends: whether the job ends when these tasks end.
        mounts: name of a volume -> mount path.
    """

    role: str
    count: int
    devices: str
    resources: str
    controller: str
    hosts: str
    start: str
    in_gang: bool
    ends: bool
    mounts: Mapping[str, str]


class Volume(Record):
    """A volume that tasks mount, or a claim that no task mounts.

    Attributes:
        name: name of the volume in the job.
        source: source of the volume, such as "claim mnist-model, 20Gi, ReadWriteMany".
        is_kept: whether the volume is a claim. Claims remain after the run, and after the job is deleted.
    """

    name: str
    source: str
    is_kept: bool


class Panel(Record):
    """The part of a picture that shows one environment of a job, or a job without environments.

    Attributes:
        title: name of the environment, or of the job.
        facts: texts about namespace, cluster, run and image.
        gang: scheduler, queue and size of the gang; empty without a gang.
        tasks: the roles in the order chief, ps, worker, evaluator; empty for a retired environment.
        volumes: the volumes of all roles, by name.
        notes: label and text of each note about the end of the run, the network, TensorBoard and GitOps tools.
    """

    title: str
    facts: tuple[str, ...]
    gang: str
    tasks: tuple[Tasks, ...]
    volumes: tuple[Volume, ...]
    notes: tuple[tuple[str, str], ...]


class Picture(Record):
    """The picture of a job, with one panel for each environment."""

    title: str
    panels: tuple[Panel, ...]


def as_data(picture: Picture) -> dict[str, Any]:
    """Return the description of the picture as dicts and lists."""
    return {
        "job": picture.title,
        "panels": [
            {
                "title": panel.title,
                "facts": [*panel.facts],
                "gang": panel.gang or None,
                "tasks": [
                    {
                        "role": tasks.role,
                        "count": tasks.count,
                        "devices": tasks.devices or None,
                        "resources": tasks.resources or None,
                        "controller": tasks.controller,
                        "hosts": tasks.hosts or None,
                        "start": tasks.start,
                        "inGang": tasks.in_gang,
                        "endsJob": tasks.ends,
                        "mounts": dict(tasks.mounts),
                    }
                    for tasks in panel.tasks
                ],
                "volumes": [
                    {"name": volume.name, "source": volume.source, "kept": volume.is_kept} for volume in panel.volumes
                ],
                "notes": [{"label": label, "text": text} for label, text in panel.notes],
            }
            for panel in picture.panels
        ],
    }


def as_mermaid(picture: Picture) -> str:
    """Return the picture as Mermaid text."""
    lines = ["flowchart LR"]
    for index, panel in enumerate(picture.panels):
        title = picture.title if panel.title == picture.title else f"{picture.title} in {panel.title}"
        title = f"{title}: {', '.join(panel.facts)}" if panel.facts else title
        lines += [f'  subgraph p{index}["{_mermaid_text([title])}"]', *_mermaid_panel(index, panel), "  end"]
    return "\n".join(lines) + "\n"


def _mermaid_panel(index: int, panel: Panel) -> Iterator[str]:
    in_gang = [tasks for tasks in panel.tasks if tasks.in_gang]
    if in_gang:
        yield f'    subgraph p{index}_gang["{_mermaid_text([panel.gang])}"]'
    for tasks in in_gang:
        yield f"  {_mermaid_tasks(index, tasks)}"
    if in_gang:
        yield "    end"
    yield from (_mermaid_tasks(index, tasks) for tasks in panel.tasks if not tasks.in_gang)
    for number, volume in enumerate(panel.volumes):
        lines = [volume.name, volume.source, "kept after the run" if volume.is_kept else ""]
        yield f'    p{index}_v{number}[("{_mermaid_text(lines)}")]'
    numbers = {volume.name: number for number, volume in enumerate(panel.volumes)}
    for tasks in panel.tasks:
        for name, path in tasks.mounts.items():
            yield f'    p{index}_{tasks.role} -- "{_mermaid_text([path])}" --> p{index}_v{numbers[name]}'
    for number, (label, text) in enumerate(panel.notes):
        yield f'    p{index}_n{number}(["{_mermaid_text([f"{label}: {text}"])}"])'


def _mermaid_tasks(index: int, tasks: Tasks) -> str:
    size = ", ".join(filter(None, (tasks.resources, tasks.devices)))
    ends = "its exit ends the job" if tasks.ends else ""
    lines = [f"{tasks.role} × {tasks.count}", size, tasks.controller, tasks.hosts, tasks.start, ends]
    return f'    p{index}_{tasks.role}["{_mermaid_text(lines)}"]'


def _mermaid_text(lines: Iterable[str]) -> str:
    """Join lines into the text of a Mermaid node. Entity codes replace characters that Mermaid may read as syntax."""
    plain = " ./:,-_()=+×"
    texts = ("".join(c if c.isalnum() or c in plain else f"#{ord(c)};" for c in line) for line in lines if line)
    return "<br/>".join(texts)


# -- SVG ---------------------------------------------------------------------------------------------------------------
#
# The picture has two environments in each row. Each task is a square, which is filled if the task has a GPU. A dot in
# the column of a volume shows that the tasks of the row mount the volume. Each text has a separate row, and long text
# is wrapped, so that labels never overlap. The colours follow the light or dark scheme of the browser.


_WIDTH: Final = 560  # width of a panel with two columns of volumes, in pixels
_PER_ROW: Final = 2  # number of panels side by side: a page of 1,280 pixels shows two panels
_GAP: Final = 24  # space between two panels, and around all panels
_PAD: Final = 14  # space between a box and its content
_LINE: Final = 18  # height of a line of text
_COLUMN: Final = 22  # width of the column of a volume
_LABEL: Final = 172  # from the left edge of a row to its tasks
_INDENT: Final = 84  # from a label to its text
_MANY: Final = 60  # number of tasks of a role from which the squares are small
_CHARACTER: Final = 6.6  # width of a character at 12 px: no common font is wider on average

_STYLE: Final = """\
  text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 17px; font-weight: 600; }
  .role { font-size: 14px; font-weight: 600; }
  .small { fill: #59636e; }
  .accent { fill: #0969da; }
  .panel { fill: #ffffff; stroke: #d1d9e0; }
  .gang { fill: none; stroke: #8250df; stroke-dasharray: 5 4; }
  .gang-text { fill: #8250df; }
  .row { fill: #f6f8fa; stroke: #d1d9e0; }
  .task { fill: none; stroke: #0969da; }
  .gpu { fill: #0969da; stroke: #0969da; }
  .rail { stroke: #d1d9e0; }
  .volume { fill: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .accent { fill: #4493f8; }
    .panel { fill: #0d1117; stroke: #3d444d; }
    .gang { stroke: #ab7df8; }
    .gang-text { fill: #ab7df8; }
    .row { fill: #151b23; stroke: #3d444d; }
    .task { stroke: #4493f8; }
    .gpu { fill: #4493f8; stroke: #4493f8; }
    .rail { stroke: #3d444d; }
    .volume { fill: #3fb950; }
  }"""


class _Block(Record):
    """A drawing with its top edge at y = 0, as lines of SVG, and the height of the drawing."""

    lines: tuple[str, ...]
    height: float


def as_svg(picture: Picture) -> str:
    """Return the picture as the text of an SVG file."""
    columns = max(len(panel.volumes) for panel in picture.panels)
    width = _WIDTH + _COLUMN * max(columns - 2, 0)
    blocks = [_panel(panel, width) for panel in picture.panels]
    rows = [blocks[start : start + _PER_ROW] for start in range(0, len(blocks), _PER_ROW)]
    heights = [max(block.height for block in row) for row in rows]
    title = f"{picture.title}: {', '.join(panel.title for panel in picture.panels)}"
    total, height = (width + _GAP) * len(rows[0]) + _GAP, sum(heights) + _GAP * (len(rows) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:g} {height:g}" width="{total:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape('; '.join(map(_summary, picture.panels)))}</desc>",
        f"<style>\n{_STYLE}\n</style>",
    ]
    top: float = _GAP
    for row, tallest in zip(rows, heights, strict=True):
        for index, block in enumerate(row):
            lines += [
                f'<g transform="translate({_GAP + index * (width + _GAP):g} {top:g})">',
                f'<rect class="panel" width="{width:g}" height="{tallest:g}" rx="8"/>',
                *block.lines,
                "</g>",
            ]
        top += tallest + _GAP
    return "\n".join([*lines, "</svg>"]) + "\n"


def _summary(panel: Panel) -> str:
    """Describe a panel in one sentence, for a screen reader."""
    devices = [f" with {tasks.devices} each" if tasks.devices else "" for tasks in panel.tasks]
    numbers = [count(tasks.count, f"{tasks.role} task") for tasks in panel.tasks]
    roles = map("".join, zip(numbers, devices, strict=True))
    return f"{panel.title}: {', '.join([*roles, *filter(None, [panel.gang])]) or 'no tasks'}"


def _panel(panel: Panel, width: float) -> _Block:
    content_width = width - 2 * _PAD
    blocks = [_text(panel.title, "title", content_width), _text(" · ".join(panel.facts), "small", content_width)]
    if panel.volumes and panel.tasks:
        blocks.append(_volume_heads(panel, content_width))
    gang = [_row(tasks, panel, content_width - 2 * _PAD) for tasks in panel.tasks if tasks.in_gang]
    if gang:
        blocks.append(_gang(panel.gang, gang, content_width))
    blocks += [
        _shifted(_row(tasks, panel, content_width - 2 * _PAD), _PAD) for tasks in panel.tasks if not tasks.in_gang
    ]
    blocks += [
        _labelled(f"volume {number}", _volume_text(volume, panel), "volume", content_width)
        for number, volume in enumerate(panel.volumes, start=1)
    ]
    blocks += [_labelled(label, text, "accent", content_width) for label, text in panel.notes]
    return _stack([block for block in blocks if block.height])


def _volume_heads(panel: Panel, content_width: float) -> _Block:
    """Return the heading of the volume columns: the word "volume", and the number of each volume above its column."""
    left = content_width - _PAD - _COLUMN * len(panel.volumes)
    lines = [f'<text class="volume" x="{left - _CHARACTER * len("volume"):g}" y="12">volume</text>']
    for index in range(len(panel.volumes)):
        x = left + _COLUMN * index + _COLUMN / 2
        lines.append(f'<text class="volume" x="{x:g}" y="12" text-anchor="middle">{index + 1}</text>')
    return _Block(tuple(lines), _LINE)


def _volume_text(volume: Volume, panel: Panel) -> str:
    paths = dict.fromkeys(tasks.mounts[volume.name] for tasks in panel.tasks if volume.name in tasks.mounts)
    where = f" at {either(paths, 'and')}" if paths else ""
    return f"{volume.name}{where}: {volume.source}{', kept after the run' if volume.is_kept else ''}"


def _gang(text: str, rows: Sequence[_Block], content_width: float) -> _Block:
    content = _stack([_text(text, "gang-text", content_width - 2 * _PAD), *rows])
    box = f'<rect class="gang" width="{content_width:g}" height="{content.height:g}" rx="8"/>'
    return _Block((box, *content.lines), content.height)


def _row(tasks: Tasks, panel: Panel, width: float) -> _Block:
    """Return the box of a role: name and resources on the left, a square for each task, and a dot for each volume."""
    dots = _COLUMN * len(panel.volumes)
    space = width - _LABEL - dots - _PAD
    size, step = (14, 18) if tasks.count <= _MANY else (6, 8)
    per_line = int(space // step)
    squares = [
        f'<rect class="{"gpu" if tasks.devices else "task"}" x="{_LABEL + index % per_line * step:g}" '
        f'y="{_PAD + index // per_line * step:g}" width="{size}" height="{size}" rx="{size // 6}"/>'
        for index in range(tasks.count)
    ]
    slots = -(-tasks.count // per_line) * step
    sizes = [_text(text, "small", _LABEL - 2 * _PAD) for text in (tasks.resources, tasks.devices) if text]
    label = _stack([_text(f"{tasks.role} × {tasks.count}", "role", _LABEL - 2 * _PAD), *sizes])
    facts = [_text(text, "small", space) for text in (tasks.controller, tasks.hosts, tasks.start) if text]
    facts += [_text("its exit ends the job", "accent", space)] if tasks.ends else []
    right = _stack(facts, left=0, top=_PAD + slots + 4, gap=0)
    height = max(label.height, right.height)
    lines = [f'<rect class="row" width="{width:g}" height="{height:g}" rx="6"/>', *label.lines, *squares]
    lines += [f'<g transform="translate({_LABEL} 0)">', *right.lines, "</g>"]
    for index, volume in enumerate(panel.volumes):
        x = width - dots + _COLUMN * index + _COLUMN / 2
        lines.append(f'<path class="rail" d="M{x:g} 0V{height:g}"/>')
        if volume.name in tasks.mounts:
            lines.append(f'<circle class="volume" cx="{x:g}" cy="{height / 2:g}" r="5"/>')
    return _Block(tuple(lines), height)


def _text(text: str, style: str, width: float) -> _Block:
    """Return a drawing of a text that is wrapped to the available width. `style` is the CSS class of the text.

    A line never ends between the word "port" and its number, or inside the port of a host such as `mnist-ps-0:2222`.
    """
    size, step = (1.4, 24) if style == "title" else (1, _LINE)
    parts = _wrapped(text, max(int(width / (_CHARACTER * size)), 8))
    lines = [f'<text class="{style}" y="{step * n - 5:g}">{escape(part)}</text>' for n, part in enumerate(parts, 1)]
    return _Block(tuple(lines), step * len(parts))


_PORTS: Final = re.compile(r"\b(ports?) (?=\d)")
_ADDRESS: Final = re.compile(r"(.*?)((?::\d+)?\W*)")
"""An address such as `mnist-ps-{0..1}.mnist:2222`: the host, and the port with the punctuation after it."""


def _wrapped(text: str, columns: int) -> list[str]:
    """Break a text into lines. The word "port" stays with its number, and the port of a host is never cut."""
    lines: list[str] = []
    for word in _PORTS.sub("\\1\u00a0", text).split(" ") if text else ():
        if lines and len(lines[-1]) + 1 + len(word) <= columns:
            lines[-1] += f" {word}"
            continue
        host, port = _ADDRESS.fullmatch(word).groups()  # type: ignore[union-attr] # the pattern matches every word
        lines += [host[start : start + columns] for start in range(0, len(host), columns)]
        if host and len(lines[-1]) + len(port) <= columns:
            lines[-1] += port
        else:
            lines.append(port)
    return [line.replace("\u00a0", " ") for line in lines]


def _labelled(label: str, text: str, style: str, width: float) -> _Block:
    """Return a drawing of the given width, with a label on the left and a wrapped text on the right.

    `style` is the CSS class of the label.
    """
    content = _shifted(_text(text, "small", width - _INDENT), _INDENT)
    return _Block((f'<text class="{style}" y="{_LINE - 5}">{escape(label)}</text>', *content.lines), content.height)


def _shifted(block: _Block, x: float) -> _Block:
    return _Block((f'<g transform="translate({x:g} 0)">', *block.lines, "</g>"), block.height)


def _stack(blocks: Sequence[_Block], left: float = _PAD, top: float = _PAD, *, gap: float = 8) -> _Block:
    """Stack drawings vertically into one drawing, with space around and between the drawings."""
    lines: list[str] = []
    y = top
    for block in blocks:
        lines += [f'<g transform="translate({left:g} {y:g})">', *block.lines, "</g>"]
        y += block.height + gap
    return _Block(tuple(lines), y - gap + _PAD)

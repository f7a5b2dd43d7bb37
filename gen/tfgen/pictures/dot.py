"""Writes the picture of a job as Graphviz text: https://graphviz.org/doc/info/lang.html."""

from __future__ import annotations

from collections.abc import Iterator

from tfgen.pictures.picture import Panel, Picture
from tfgen.pictures.words import mounts_of, panel_title, task_lines, volume_lines


def as_dot(picture: Picture) -> str:
    """Return the picture as the text of a Graphviz file."""
    lines = [
        "digraph job {",
        "  rankdir=LR",
        "  compound=true",
        '  node [shape=box, style=rounded, fontname="sans-serif"]',
        '  edge [fontname="sans-serif"]',
        '  graph [fontname="sans-serif"]',
    ]
    for index, panel in enumerate(picture.panels):
        lines += [f"  subgraph cluster_{index} {{", f"    label={_text([panel_title(picture, panel)])}"]
        lines += [*_panel(index, panel), "  }"]
    return "\n".join([*lines, "}"]) + "\n"


def _panel(index: int, panel: Panel) -> Iterator[str]:
    in_gang = [tasks for tasks in panel.tasks if tasks.in_gang]
    if in_gang:
        yield f"    subgraph cluster_{index}_gang {{"
        yield f"      label={_text([panel.gang])}; style=dashed"
        for tasks in in_gang:
            yield f"      p{index}_{tasks.role} [label={_text(task_lines(tasks))}]"
        yield "    }"
    for tasks in panel.tasks:
        if not tasks.in_gang:
            yield f"    p{index}_{tasks.role} [label={_text(task_lines(tasks))}]"
    for number, volume in enumerate(panel.volumes):
        yield f"    p{index}_v{number} [shape=cylinder, style=solid, label={_text(volume_lines(volume))}]"
    for role, number, path in mounts_of(panel):
        yield f"    p{index}_{role} -> p{index}_v{number} [label={_text([path])}]"
    for number, (label, text) in enumerate(panel.notes):
        yield f"    p{index}_n{number} [shape=plaintext, label={_text([f'{label}: {text}'])}]"


def _text(lines: list[str]) -> str:
    r"""Join lines into a quoted string in the syntax of Graphviz.

    >>> _text(['a "b"', "c"])
    '"a \\"b\\"\\nc"'
    """
    quoted = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(quoted) + '"'

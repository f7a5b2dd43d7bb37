"""Writes the picture of a job as a Mermaid flowchart, which GitHub and GitLab draw in Markdown.

The text of each flowchart node is quoted. Entity codes replace the characters that Mermaid reads as syntax:
https://mermaid.js.org/syntax/flowchart.html#entity-codes-to-escape-characters
"""

from __future__ import annotations

from collections.abc import Iterator

from tfgen.pictures.picture import Panel, Picture, mounts_of, panel_title, task_lines, volume_lines


def as_mermaid(picture: Picture) -> str:
    """Return the picture as Mermaid text."""
    lines = ["flowchart LR"]
    for index, panel in enumerate(picture.panels):
        lines += [f'  subgraph p{index}["{_text([panel_title(picture, panel)])}"]', *_panel(index, panel), "  end"]
    return "\n".join(lines) + "\n"


def _panel(index: int, panel: Panel) -> Iterator[str]:
    in_gang = [tasks for tasks in panel.tasks if tasks.in_gang]
    if in_gang:
        yield f'    subgraph p{index}_gang["{_text([panel.gang])}"]'
    for tasks in in_gang:
        yield f'      p{index}_{tasks.role}["{_text(task_lines(tasks))}"]'
    if in_gang:
        yield "    end"
    for tasks in panel.tasks:
        if not tasks.in_gang:
            yield f'    p{index}_{tasks.role}["{_text(task_lines(tasks))}"]'
    for number, volume in enumerate(panel.volumes):
        yield f'    p{index}_v{number}[("{_text(volume_lines(volume))}")]'
    for role, number, path in mounts_of(panel):
        yield f'    p{index}_{role} -- "{_text([path])}" --> p{index}_v{number}'
    for number, (label, text) in enumerate(panel.notes):
        yield f'    p{index}_n{number}(["{_text([f"{label}: {text}"])}"])'


def _text(lines: list[str]) -> str:
    """Join lines into the text of a Mermaid node. Entity codes replace characters that Mermaid may read as syntax."""
    return "<br/>".join("".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in line) for line in lines)


_PLAIN = frozenset(" ./:,-_()=+×")

"""Texts that are the same in the SVG, Mermaid and Graphviz pictures of a job."""

from __future__ import annotations

from collections.abc import Iterator

from tfgen.pictures.picture import Panel, Picture, Tasks, Volume


def panel_title(picture: Picture, panel: Panel) -> str:
    """Return the heading of a panel, such as "mnist in prod: namespace ml, run 2"."""
    title = picture.title if panel.title == picture.title else f"{picture.title} in {panel.title}"
    return f"{title}: {', '.join(panel.facts)}" if panel.facts else title


def task_lines(tasks: Tasks) -> list[str]:
    """Return the lines of text about the tasks of a role."""
    ends = "its exit ends the job" if tasks.ends else ""
    size = ", ".join(filter(None, (tasks.resources, tasks.devices)))
    lines = [f"{tasks.role} × {tasks.count}", size, tasks.controller, tasks.hosts, tasks.start, ends]
    return [line for line in lines if line]


def volume_lines(volume: Volume) -> list[str]:
    """Return the lines of text about a volume."""
    return [volume.name, volume.source, *(["kept after the run"] if volume.is_kept else [])]


def mounts_of(panel: Panel) -> Iterator[tuple[str, int, str]]:
    """Yield (role, index of the volume in `Panel.volumes`, mount path) for each mount in a panel."""
    positions = {volume.name: position for position, volume in enumerate(panel.volumes)}
    for tasks in panel.tasks:
        for name, path in tasks.mounts.items():
            yield tasks.role, positions[name], path

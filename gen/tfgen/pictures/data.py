"""Converts the description of a picture to plain data, for JSON."""

from __future__ import annotations

from typing import Any

from tfgen.pictures.picture import Picture


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

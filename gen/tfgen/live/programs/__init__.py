"""Programs that tfgen runs in the container of a task, with the Python of the image."""

from __future__ import annotations

from pathlib import Path


def source(name: str) -> str:
    """Return the text of a program by the name of its module."""
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")

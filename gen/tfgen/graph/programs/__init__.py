"""The programs of tfgen that run in a cluster, as files for ConfigMaps: the finisher and the run lock.

The user chooses the images, so each program is a single file for Python 3.6 with the standard library only.
"""

from __future__ import annotations

from pathlib import Path

from tfgen.graph.holes import File


def file(name: str) -> File:
    """Return a program as a `File`, by the name of its module. The source file is in the folder of this module."""
    path = Path(__file__).parent / f"{name}.py"
    return File(f"files/{path.name}", path.read_text(encoding="utf-8"))

"""The programs that run in a cluster, as texts for ConfigMaps.

    file("finisher")  ->  File("files/finisher.py", '\"\"\"Releases the rest of a training job ...')

The user chooses the images, so each program is one file for Python 3.6 with the standard library only.
"""

from __future__ import annotations

from pathlib import Path

from tfgen.graph.holes import File


def file(name: str) -> File:
    """Return a program by the name of its module. The program is in the folder of this module, also in a wheel."""
    path = Path(__file__).parent / f"{name}.py"
    return File(f"files/{path.name}", path.read_text(encoding="utf-8"))

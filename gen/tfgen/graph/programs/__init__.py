"""Programs that run in a cluster: read as text, and put into ConfigMaps.

    file("finisher")  ->  File("files/finisher.py", '\"\"\"Releases the rest of a training job ...')

They run in images that tfgen does not choose, so each is one file for Python 3.6 and its standard library alone.
"""

from __future__ import annotations

from pathlib import Path

from tfgen.graph.holes import File


def file(name: str) -> File:
    """A program, by its module's name.

    A wheel is unpacked when it is installed, so that the file stands beside this one there as in a checkout.
    """
    path = Path(__file__).parent / f"{name}.py"
    return File(f"files/{path.name}", path.read_text(encoding="utf-8"))

"""Programs that run in a cluster: read as text, and put into ConfigMaps.

    text("finisher")  ->  '\"\"\"Releases the rest of a training job ...'

They run in images that tfgen does not choose, so each is one file for Python 3.6 and its standard library alone.
"""

from __future__ import annotations

from pathlib import Path


def text(name: str) -> str:
    """The text of a program, by its module's name.

    A wheel is unpacked when it is installed, so that the file stands beside this one there as in a checkout.
    """
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")

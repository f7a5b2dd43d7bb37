"""Where a path leads, through all links."""

from __future__ import annotations

import os
from pathlib import Path


def real_path(path: Path) -> Path:
    """As `Path.resolve` does it, but that Python before 3.13 raises a RuntimeError there where links lead in a circle.

    Here such a link is taken as it is: whoever opens it gets the OSError that says so.
    """
    return Path(os.path.realpath(path))

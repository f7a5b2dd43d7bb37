"""Resolve the symbolic links in a path."""

from __future__ import annotations

import os
from pathlib import Path


def real_path(path: Path) -> Path:
    """Resolve all symbolic links of a path. Unlike `Path.resolve`, raise no RuntimeError for a cycle of links.

    A link in a cycle stays unresolved, and an attempt to open the path raises an OSError. `Path.resolve` raises the
    RuntimeError in Python before 3.13.
    """
    return Path(os.path.realpath(path))

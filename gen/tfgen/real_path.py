"""The target of a path after all symbolic links."""

from __future__ import annotations

import os
from pathlib import Path


def real_path(path: Path) -> Path:
    """Resolve all links of a path like `Path.resolve`, but without the RuntimeError of Python before 3.13 for a cycle.

    A link of a cycle stays unresolved, and an attempt to open the path raises an OSError.
    """
    return Path(os.path.realpath(path))

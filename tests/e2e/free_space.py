"""Free disk space that a test node needs. The kubelet of a node on a full disk evicts all pods."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from tests.e2e.servers.program import MissingRequirementError

_NEEDED_SPACE: Final = 8 << 30
"""Bytes of the images (5 GiB), and of the volumes and logs. The kubelet evicts pods from a full disk."""


def check_free_space(folder: Path) -> None:
    """Check that the disk of a folder has enough free space for a node. Create the folder if the folder is missing.

    Raises:
        MissingRequirementError: The disk has less free space.
    """
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_SPACE:
        raise MissingRequirementError(
            f"needs {_NEEDED_SPACE >> 30} GiB of free disk space in {folder}, which has {free / 2**30:.1f} GiB"
        )

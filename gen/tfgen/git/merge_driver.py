"""Configure `merge.tfgen.driver`, the git setting for the command that merges rendered files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tfgen.git.command import Git, is_installed

_KEY: Final = "merge.tfgen.driver"
_COMMAND: Final = "tfgen merge-driver %O %A %B %P"
"""The command of the merge driver. git replaces %O, %A, %B and %P by file names."""


def configure_merge_driver(folder: Path) -> bool:
    """Configure the merge driver in the clone that contains a folder. Return False if nothing was configured.

    A clone that already has the merge driver, or a folder outside of a clone, needs no configuration.

    Raises:
        TfgenError: git fails.
    """
    if not (is_installed() and folder.is_dir()) or Git(folder, ("rev-parse", "--git-dir")).done().code:
        return False
    if not Git(folder, ("config", "--get", _KEY)).done().code:
        return False
    Git(folder, ("config", "--local", _KEY, _COMMAND)).output()
    return True

"""Git with an author and without settings of the user or the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

VARIABLES: Final[Mapping[str, str]] = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ada@example.com" for who in ("AUTHOR", "COMMITTER")},
}
"""Variables of the environment in which git runs."""

"""Git as somebody who has no settings: neither those of whoever runs the tests, nor the machine's."""

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
"""Of the environment in which git runs."""

"""What a task's log tells of the training."""

from __future__ import annotations

import re
from typing import Final

_STEP: Final = re.compile(r"\b(?:global[ _])?step\b[ :=/]*(\d+)", re.IGNORECASE)


def last_step(text: str) -> int | None:
    """The number of the last step that a log names: `step 600: ...`, `global_step = 600`; None where it names none."""
    steps = _STEP.findall(text)
    return int(steps[-1]) if steps else None

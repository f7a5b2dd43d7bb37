"""Prints the losses in a training log as a curve in one line: `loss of chief-0: █▅▃▂▁ 2.31 -> 0.12`.

Keras prints `loss: 0.123`, an Estimator prints `loss = 0.123`, and custom training loops print `loss=0.123` or
`loss 0.123`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

_LOSS: Final = re.compile(
    r"(?P<validation>(?:val|valid|validation|eval|evaluation|test)[ -])?(?<!\w)(?:training_|train_)?"
    r"loss(?:\s*[:=]\s*(?P<marked>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|[-+]?inf)|\s+(?P<plain>\d+\.\d+))\b",
    re.IGNORECASE,
)
_BARS: Final = "▁▂▃▄▅▆▇█"
_NOT_FINITE: Final = "!"
_WIDTH: Final = 40
"""Maximum number of characters of a curve. If a log has more losses, each character shows an average."""


def losses(log: Iterable[str]) -> list[float]:
    """Return the training losses in the lines of a log, without validation losses.

    A progress bar prints many losses into one line, so only the last loss of each line counts. But if only one line of
    the log has losses, all losses of this line count.
    """
    lines = [values for values in map(_losses_of_line, log) if values]
    return lines[0] if len(lines) == 1 else [values[-1] for values in lines]


def loss_line(task: str, values: Sequence[float]) -> str:
    """Return a line with a task's loss curve, first loss and last loss; empty for fewer than two losses."""
    return f"loss of {task}: {sparkline(values)} {values[0]:g} -> {values[-1]:g}" if len(values) > 1 else ""


def sparkline(values: Sequence[float], width: int = _WIDTH) -> str:
    """Draw numbers as a text of bars with eight heights. An exclamation mark shows an infinite number or a NaN.

    >>> sparkline([8, 4, 2, 1, float("nan")])
    '█▄▂▁!'
    """
    means = [_mean(part) for part in _parts(values, width)]
    finite = [value for value in means if math.isfinite(value)]
    least, span = min(finite, default=0.0), max(finite, default=0.0) - min(finite, default=0.0)
    return "".join(
        _BARS[int((value - least) / (span or 1) * (len(_BARS) - 1) + 0.5)] if math.isfinite(value) else _NOT_FINITE
        for value in means
    )


def _losses_of_line(line: str) -> list[float]:
    return [float(match["marked"] or match["plain"]) for match in _LOSS.finditer(line) if match["validation"] is None]


def _parts(values: Sequence[float], width: int) -> list[Sequence[float]]:
    """Split the values into at most `width` consecutive parts of almost equal length."""
    count = min(width, len(values))
    return [values[start:end] for start, end in pairwise(len(values) * n // max(count, 1) for n in range(count + 1))]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

"""What the log of a task says: common training errors, and the curve of the loss."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from tfgen.record import Record


class TrainingError(Record):
    """A common error of training programs.

    Attributes:
        name: the id of the error, such as `port-in-use`.
        pattern: a regular expression for a line of the log.
        meaning: the explanation for the user.
        is_silent: whether a task with the error can continue, and can even succeed.
        page: the page that describes the fix.
    """

    name: str
    pattern: str
    meaning: str
    is_silent: bool = False
    page: str = "docs/keras.md#errors-and-fixes"

    def __str__(self) -> str:
        """Return the explanation of the error and the page with the fix."""
        return f"{self.meaning}: see {self.page}"


# The order matters: the first matching error of the table is the cause, and a later error may be a consequence.
ERRORS: Final = (
    TrainingError(
        "keras-3-mirrored",
        r"Attempt to convert a value \(PerReplica",
        "model.fit of Keras 3 does not train under MultiWorkerMirroredStrategy; use tf_keras",
    ),
    TrainingError(
        "keras-3-parameter-server",
        r"pass this dataset to [`'\"]?ClusterCoordinator\.create_per_worker_dataset",
        "model.fit of Keras 3 does not train under ParameterServerStrategy; use tf_keras",
    ),
    TrainingError(
        "no-tf-keras",
        r"do not have the tf_keras package installed|No module named '?tf_keras\b",
        "TF_USE_LEGACY_KERAS is set, and the image has no tf_keras; install the package",
    ),
    TrainingError(
        "no-tensorboard",
        r"No module named '?tensorboard\b|tensorboard: (command )?not found|\"tensorboard\": executable file not found",
        "the image has no tensorboard; install the package, or set tensorboard.image",
    ),
    TrainingError(
        "port-in-use",
        r"Could not start gRPC server|Address already in use|Failed to add port to server",
        "the program starts a second server or the server of another task, or another program uses the port",
    ),
    TrainingError(
        "no-tf-config",
        r"Cluster spec must be non-empty|KeyError: ['\"]TF_CONFIG",
        "the program found no cluster in TF_CONFIG",
    ),
    TrainingError(
        "out-of-memory",
        r"ResourceExhaustedError|RESOURCE_EXHAUSTED|OOM when allocating tensor|CUDA_ERROR_OUT_OF_MEMORY|MemoryError"
        r"|OOMKilled",
        "the task has too little memory for the model and the batch",
    ),
    TrainingError(
        "nan-loss",
        r"(?i:\bloss['\"]?\s*(?:[:=]|is)?\s*nan\b)|Invalid loss, terminating training",
        "the loss is not a number; the training diverges or the data has bad values",
        is_silent=True,
    ),
    TrainingError(
        "jax-peer-lost",
        r"the JAX distributed service detected fatal errors",
        "another task of keras.distribution ended or does not answer, so JAX ends this task; read the log of that task",
    ),
    TrainingError(
        "no-connection",
        r"failed to connect to all addresses|Connection refused",
        "a task cannot reach another task: that task has ended, or a network policy blocks the connection",
    ),
)


def find_error(lines: str | Iterable[str], *, has_failed: bool = True) -> TrainingError | None:
    """Return the first common error that occurs in the lines of a task's log; None if no line matches.

    Args:
        lines: the log.
        has_failed: whether the task has failed. A task that has not failed can only have a silent error.
    """
    text = lines if isinstance(lines, str) else "\n".join(lines)
    candidates = (error for error in ERRORS if has_failed or error.is_silent)
    return next((error for error in candidates if re.search(error.pattern, text)), None)


_LOSS: Final = re.compile(
    r"(?P<validation>(?:val|valid|validation|eval|evaluation|test)[ -])?(?<!\w)(?:training_|train_)?"
    r"loss(?:\s*[:=]\s*(?P<marked>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|[-+]?inf)|\s+(?P<plain>\d+\.\d+))\b",
    re.IGNORECASE,
)
_BARS: Final = "▁▂▃▄▅▆▇█"


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


def sparkline(values: Sequence[float]) -> str:
    """Draw numbers as a text of bars with eight heights. An exclamation mark shows an infinite number or a NaN.

    The text has at most 40 characters. For more numbers, each character shows an average.

    >>> sparkline([8, 4, 2, 1, float("nan")])
    '█▄▂▁!'
    """
    count = min(40, len(values))
    ends = [len(values) * number // max(count, 1) for number in range(count + 1)]
    means = [sum(values[start:end]) / (end - start) for start, end in pairwise(ends)]
    finite = [value for value in means if math.isfinite(value)]
    least, span = min(finite, default=0.0), max(finite, default=0.0) - min(finite, default=0.0)
    return "".join(
        _BARS[int((value - least) / (span or 1) * (len(_BARS) - 1) + 0.5)] if math.isfinite(value) else "!"
        for value in means
    )


def _losses_of_line(line: str) -> list[float]:
    return [float(match["marked"] or match["plain"]) for match in _LOSS.finditer(line) if match["validation"] is None]

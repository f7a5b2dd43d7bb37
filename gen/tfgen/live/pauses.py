"""Pauses between the tries of a request: exponential backoff with jitter, as in client-go."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Final

from tfgen.record import Record

LONGEST: Final = 3.0
"""Maximum number of seconds between two tries. tfgen notices within 10 seconds that a server works again."""
_FIRST: Final = 0.25
_LONGEST_RETRY_AFTER: Final = 10.0
AGAIN: Final = frozenset({429, 500, 502, 503, 504})
"""Status codes after which a repeated request may succeed."""


class Patience(Record):
    """Time limits in seconds for a request, including the repeated tries.

    Attributes:
        answer: timeout for the connection, and for each read of the answer.
        total: maximum time from the first try to the last try; None for no limit.
        deadline: value of `time.monotonic` at the time of the last try; None for no deadline.
        unreachable: shorter limit that replaces `total` until the first answer of the server; None for no shorter
            limit.
    """

    answer: float
    total: float | None
    deadline: float | None = None
    unreachable: float | None = None

    def left(self, first: float, now: float, *, is_unreachable: bool = False) -> float:
        """Return the number of seconds until the last try. The first try was at the time `first`."""
        total = self.unreachable if is_unreachable and self.unreachable is not None else self.total
        limits = [*([first + total] if total is not None else []), *([self.deadline] if self.deadline else [])]
        return min(limits, default=math.inf) - now


ONCE: Final = Patience(answer=15, total=30, unreachable=3)
"""Time limits of a command that reads the cluster once, such as `tfgen status`."""
FOLLOWING: Final = Patience(answer=5, total=None)
"""Time limits of a command that continues until the run ends, such as `tfgen wait`."""


def pause(tries: int, headers: Mapping[str, str], between: Callable[[float, float], float] = random.uniform) -> float:
    """Return the number of seconds between a failed try and the next try.

    Args:
        tries: number of failed tries.
        headers: headers of the answer. `Retry-After` requests a pause in seconds; tfgen pauses for at most ten seconds.
        between: function that returns a random number between its two arguments.
    """
    retry_after = headers.get("Retry-After", "")
    if retry_after.isdecimal():
        return min(float(retry_after), _LONGEST_RETRY_AFTER)
    longest = min(_FIRST * 2.0**tries, LONGEST)
    return between(longest / 2, longest)

"""Pauses before a repeated request, as in client-go: exponential backoff with jitter."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

from tfgen.record import Record

LONGEST: Final = 3.0
"""Seconds between two tries. With the timeout of a try, tfgen notices a recovered server within 10 seconds."""
_FIRST: Final = 0.25
_LONGEST_RETRY_AFTER: Final = 10.0
AGAIN: Final = frozenset({429, 500, 502, 503, 504})
"""Status codes after which a repeated request may succeed."""


class Patience(Record):
    """Timeouts of a request, in seconds.

    Attributes:
        answer: timeout for the connection, and for each part of the answer.
        total: time from the first try to the last; None for no limit.
        deadline: value of `time.monotonic` after which no try starts; None for no deadline.
        unreachable: replaces `total` for a server that has never accepted a connection; None for no replacement.
    """

    answer: float
    total: float | None
    deadline: float | None = None
    unreachable: float | None = None

    def ends(self, first: float, following: float, *, is_unreachable: bool = False) -> bool:
        """Test whether the next try would be too late, by the times of the first try and of the next try."""
        total = self.unreachable if is_unreachable and self.unreachable is not None else self.total
        is_late = total is not None and following - first > total
        return is_late or (self.deadline is not None and following > self.deadline)


ONCE: Final = Patience(answer=15, total=30, unreachable=3)
"""Patience of a command that reads the cluster once."""
FOLLOWING: Final = Patience(answer=5, total=None)
"""Patience of a command that runs until the run ends."""


def pause(tries: int, headers: Mapping[str, str], between: Callable[[float, float], float] = random.uniform) -> float:
    """Return the seconds until the next try.

    Args:
        tries: number of failed tries.
        headers: headers of the answer. `Retry-After` has the seconds that the server requests; at most ten count.
        between: random number generator with a lower and an upper limit.
    """
    retry_after = headers.get("Retry-After", "")
    if retry_after.isdecimal():
        return min(float(retry_after), _LONGEST_RETRY_AFTER)
    longest = min(_FIRST * 2.0**tries, LONGEST)
    return between(longest / 2, longest)

"""Pauses between the tries of a request: exponential backoff with jitter, as in client-go."""

from __future__ import annotations

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
    """Timeouts of a request and its repetitions, in seconds.

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
        """Test whether the time limit allows no try at the time `following`, for a first try at the time `first`."""
        total = self.unreachable if is_unreachable and self.unreachable is not None else self.total
        is_late = total is not None and following - first > total
        return is_late or (self.deadline is not None and following > self.deadline)


ONCE: Final = Patience(answer=15, total=30, unreachable=3)
"""Timeouts of a command that reads the cluster once, such as `tfgen status`."""
FOLLOWING: Final = Patience(answer=5, total=None)
"""Timeouts of a command that continues until the run ends, such as `tfgen wait`."""


def pause(tries: int, headers: Mapping[str, str], between: Callable[[float, float], float] = random.uniform) -> float:
    """Return the seconds until the next try.

    Args:
        tries: number of failed tries.
        headers: headers of the answer. `Retry-After` has the seconds that the server requests; at most ten count.
        between: function that returns a random number between a lower and an upper limit.
    """
    retry_after = headers.get("Retry-After", "")
    if retry_after.isdecimal():
        return min(float(retry_after), _LONGEST_RETRY_AFTER)
    longest = min(_FIRST * 2.0**tries, LONGEST)
    return between(longest / 2, longest)

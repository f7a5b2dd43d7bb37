"""How long to wait before a request is sent again, as client-go does: longer each time, and never quite the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

from tfgen.record import Record

LONGEST: Final = 3.0
"""Seconds between two tries: with the time that a try may take, a server that is back is seen within 10."""
_FIRST: Final = 0.25
_LONGEST_RETRY_AFTER: Final = 10.0
AGAIN: Final = frozenset({429, 500, 502, 503, 504})
"""The answers after which the same request may succeed."""


class Patience(Record):
    """How long an answer is waited for, in seconds.

    Attributes:
        answer: until a connection is there, and then between two parts of its answer.
        in_all: from the first try to the last; None for ever.
        reached: from the first try to the last for a server that has never let anyone connect; None for ever.
        deadline: after which nothing is tried again, as `time.monotonic` counts; None for never.
    """

    answer: float
    in_all: float | None
    deadline: float | None = None
    reached: float | None = None

    def ends(self, first: float, following: float, *, is_unreachable: bool = False) -> bool:
        """Whether it is over, by the times of the first try and of the one that would follow."""
        in_all = self.reached if is_unreachable and self.reached is not None else self.in_all
        is_late = in_all is not None and following - first > in_all
        return is_late or (self.deadline is not None and following > self.deadline)


ONCE: Final = Patience(answer=15, in_all=30, reached=3)
"""Of a command that looks once."""
FOLLOWING: Final = Patience(answer=5, in_all=None)
"""Of a command that goes on until the run ends."""


def pause(tries: int, headers: Mapping[str, str], between: Callable[[float, float], float] = random.uniform) -> float:
    """The seconds until the next try.

    Args:
        tries: how many have failed.
        headers: those of the answer. `Retry-After` has the seconds that the server asks for, up to ten of them.
        between: draws a number between two.
    """
    own = headers.get("Retry-After", "")
    if own.isdecimal():
        return min(float(own), _LONGEST_RETRY_AFTER)
    longest = min(_FIRST * 2.0**tries, LONGEST)
    return between(longest / 2, longest)

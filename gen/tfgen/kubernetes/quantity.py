"""A Kubernetes quantity as an exact number.

    >>> parse("1.5Gi"), parse("500m"), parse(2)
    (1610612736, Fraction(1, 2), 2)

The grammar is that of https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/: a number, and
a binary suffix (Ki to Ei), a decimal one (n to E), or a decimal exponent (e3). So `1E` is an exa and `1E3` a thousand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fractions import Fraction

    Amount = int | Fraction

_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)\.?(?P<part>[0-9]*)|\.(?P<only>[0-9]+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?"
)

_POWERS_OF_TEN: Final = {"n": -9, "u": -6, "m": -3, **{suffix: 3 * i for i, suffix in enumerate("kMGTPE", start=1)}}
_POWERS_OF_TWO: Final = {f"{suffix}i": 10 * i for i, suffix in enumerate("KMGTPE", start=1)}


def parse(quantity: str | float) -> Amount:
    """The number that a quantity stands for. Exponents have at most three digits, as those of a float64 have.

    Raises:
        ValueError: it is no quantity.
    """
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        raise ValueError(f"{quantity!r} is no Kubernetes quantity")
    part = match["part"] or match["only"] or ""
    digits = int(f"{match['sign']}{match['whole'] or ''}{part}") << _POWERS_OF_TWO.get(match["suffix"], 0)
    power = int(match["exponent"] or _POWERS_OF_TEN.get(match["suffix"], 0)) - len(part)
    times: int
    parts: int
    times, parts = 10 ** max(power, 0), 10 ** max(-power, 0)
    number, rest = divmod(digits * times, parts)
    if not rest:
        return number
    from fractions import Fraction  # 10 ms, which most jobs need not pay

    return Fraction(digits, parts)

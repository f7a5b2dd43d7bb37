"""A Kubernetes quantity as an exact number.

    >>> parse("1.5Gi"), parse("500m"), parse(2)
    (Fraction(1610612736, 1), Fraction(1, 2), Fraction(2, 1))

The grammar is that of https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/: a number, and
a binary suffix (Ki to Ei), a decimal one (n to E), or a decimal exponent (e3). So `1E` is an exa and `1E3` a thousand.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,2}))?"
)

_MULTIPLIERS: Final = {
    **{suffix: Fraction(10) ** power for suffix, power in zip("num", (-9, -6, -3), strict=True)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


def parse(quantity: str | int) -> Fraction:
    """The number that a quantity stands for. Exponents have at most two digits, as in the job schema.

    Raises:
        ValueError: it is no quantity.
    """
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        raise ValueError(f"{quantity!r} is no Kubernetes quantity")
    exponent = Fraction(10) ** int(match["exponent"] or 0)
    return Fraction(match["number"]) * _MULTIPLIERS.get(match["suffix"], Fraction(1)) * exponent

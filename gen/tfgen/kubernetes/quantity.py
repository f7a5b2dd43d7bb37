"""Conversion of a Kubernetes quantity, such as `1.5Gi`, to an exact number.

    >>> parse("1.5Gi"), parse("500m"), parse(2)
    (1610612736, Fraction(1, 2), 2)

The grammar is that of https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/: a number, and
a binary suffix (Ki to Ei), a decimal suffix (n to E), or a decimal exponent (e3). So `1E` is 10^18, and `1E3` is 1,000.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

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
    """Return the number of a quantity. An exponent has at most three digits, as in a float64.

    Raises:
        ValueError: the text is not a quantity.
    """
    amount = _parsed(str(quantity))
    if amount is None:
        raise ValueError(f"{quantity!r} is not a Kubernetes quantity")
    return amount


@functools.lru_cache(1 << 10)  # jobs use the same few quantities
def _parsed(text: str) -> Amount | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    part = match["part"] or match["only"] or ""
    digits = int(f"{match['sign']}{match['whole'] or ''}{part}") << _POWERS_OF_TWO.get(match["suffix"], 0)
    power = int(match["exponent"] or _POWERS_OF_TEN.get(match["suffix"], 0)) - len(part)
    times: int = 10 ** max(power, 0)
    parts: int = 10 ** max(-power, 0)
    number, remainder = divmod(digits * times, parts)
    if not remainder:
        return number
    from fractions import Fraction  # the import takes 10 ms, and most jobs do not need it

    return Fraction(digits, parts)


def is_quantity(value: Any) -> bool:
    """Return whether a value is a quantity."""
    try:
        parse(value)
    except ValueError:
        return False
    return True


_SUFFIXES_OF_TEN: Final = {power: suffix for suffix, power in _POWERS_OF_TEN.items()} | {0: ""}
_SUFFIXES_OF_TWO: Final = {power: suffix for suffix, power in _POWERS_OF_TWO.items()} | {0: ""}


def canonical(quantity: str | int) -> str:
    """Return a quantity in the format that the API server stores, rounded up to thousandths.

        >>> canonical("1000m"), canonical("0.5"), canonical("1.5Gi"), canonical(2000), canonical("12e2")
        ('1', '500m', '1536Mi', '2k', '1200')

    https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/api/resource/quantity.go (CanonicalizeBytes)
    and https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go (SetDefaults_ResourceList)

    Raises:
        ValueError: the text is not a quantity.
    """
    text = str(quantity)
    amount = parse(text)
    if text.endswith("i") and isinstance(amount, int) and abs(amount) >= 1 << 10:
        number, power = _reduced(amount, 1 << 10, 60, 10)
        return f"{number}{_SUFFIXES_OF_TWO[power]}"
    number, power = _reduced(int(-(-amount * 1000 // 1)), 1000, 21, 3)
    power -= 3
    is_exponent = "e" in text.lower().removesuffix("e")
    return f"{number}e{power}" if is_exponent and power else f"{number}{_SUFFIXES_OF_TEN[power]}"


def _reduced(number: int, base: int, most: int, step: int) -> tuple[int, int]:
    """Divide `number` by `base` as often as the remainder is 0, and return the quotient and the exponent.

    For example, `_reduced(5_000_000, 1000, 21, 3)` returns (5, 6), because 5,000,000 is 5 times 10 to the power 6. Each
    division adds `step` to the exponent, and `most` is the largest exponent. For the number 0, the result is (0, step).
    """
    power = 0
    while power < most and number % base == 0:
        number, power = number // base, power + step
    return (number, power) if number else (0, step)


# -- the notation of the operators' webhooks ---------------------------------------------------------------------------
#
# Objects in the notation of the operators' webhooks, so that a comparison finds only real differences.
#
# A webhook of an operator reads an object into Go types, and writes the object as JSON. In this JSON, each quantity is
# a string, each resourceFieldRef has a divisor, and a variable whose value is an empty text lacks the key `value`.


def written_form(value: Any) -> Any:
    """Return plain data, with quantities, divisors and variables as in the JSON of an operator's webhook.

    >>> written_form({"limits": {"cpu": 2}})
    {'limits': {'cpu': '2'}}
    >>> written_form({"resourceFieldRef": {"resource": "limits.cpu"}})
    {'resourceFieldRef': {'divisor': '0', 'resource': 'limits.cpu'}}
    """
    if isinstance(value, list | tuple):
        return [written_form(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"name", "value"} and value["value"] == "":
        return {"name": value["name"]}
    written = {}
    for key, item in value.items():
        written[key] = written_form(item)
        if key == "resourceFieldRef" and isinstance(item, Mapping):
            written[key] = {"divisor": "0", **written[key]}
        elif key in ("limits", "requests") and isinstance(item, Mapping):
            written[key] = {name: _amount(amount) for name, amount in written[key].items()}
    return written


def _amount(amount: Any) -> Any:
    try:
        return canonical(amount)
    except (TypeError, ValueError):
        return amount

"""Amounts that are valid and almost certainly not what was meant: half a byte of memory, a claim of 100 bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tfgen.kubernetes import quantity
from tfgen.rules import limits
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

if TYPE_CHECKING:
    from fractions import Fraction

_LEAST_BYTES: Final = 2**20
"""No container starts with less memory, and no disk is smaller."""
_MOST_CPUS: Final = 499
"""More CPUs than a task asks for. The nodes with more, of up to 1,920, are for databases in memory."""


def _check(view: View) -> Iterator[Finding]:
    for container in limits.list_amounts(view):
        for map_, amounts in (("requests", container.requests), ("limits", container.limits)):
            for name, amount in amounts.items():
                if meant := _meant(name, str(amount)):
                    path = limits.locate_amount(view, container.path, map_, name)
                    yield Finding(path, f"the {name} of {container.who} is {amount}, which is {meant}")
    for name, volume in view.values["storage"].items():
        size = str(volume.get("claim", {}).get("size") or "")
        if size and (meant := _meant("storage", size)):
            yield Finding(
                ("storage", name, "claim", "size"), f"the claim of storage.{name} has {size}, which is {meant}"
            )


def _meant(name: str, amount: str) -> str:
    """What the amount is, and what it was probably to be; empty where it may well be meant."""
    parsed = quantity.parse(amount)
    if name == "cpu" and parsed > _MOST_CPUS:
        if amount.isdecimal():
            return f"{amount} CPUs; did you mean {amount}m?"
        return f"{float(parsed):.3g} CPUs; was it meant for memory? CPUs are written as 2 or 500m"
    if name in ("memory", "ephemeral-storage", "storage") and 0 < parsed < _LEAST_BYTES:
        return f"{_bytes(parsed)}; {_probably(amount)}"
    return ""


def _bytes(amount: int | Fraction) -> str:
    return f"{amount} bytes" if amount > 1 else f"{float(amount):.3g} of a byte" if amount < 1 else "one byte"


def _probably(amount: str) -> str:
    number = amount.rstrip("kKimun")
    unit = "M" if amount.endswith("m") else "G"
    return f"did you mean {number}{unit} or {number}{unit}i?"


RULES: Final = (Rule("odd-amount", "warning", "An amount is probably a slip.", _check),)

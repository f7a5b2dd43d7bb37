"""Amounts that are valid but probably a mistake, such as half a byte of memory or a claim of 100 bytes."""

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

_MIN_BYTES: Final = 2**20
"""Smallest plausible amount of memory or disk: no container starts with fewer bytes, and no disk is smaller."""
_MAX_CPUS: Final = 499
"""Largest plausible number of CPUs of a task. Nodes with more CPUs, up to 1,920, are for in-memory databases."""


def _check(view: View) -> Iterator[Finding]:
    for container in limits.list_amounts(view):
        for amounts_key, amounts in (("requests", container.requests), ("limits", container.limits)):
            for name, amount in amounts.items():
                if explanation := _explain(name, str(amount)):
                    path = limits.locate_amount(view, container.path, amounts_key, name)
                    yield Finding(path, f"the {name} of {container.owner} is {amount}, which means {explanation}")
    for name, volume in view.values["storage"].items():
        size = str(volume.get("claim", {}).get("size") or "")
        if size and (explanation := _explain("storage", size)):
            message = f"the size of storage.{name}.claim is {size}, which means {explanation}"
            yield Finding(("storage", name, "claim", "size"), message)


def _explain(name: str, amount: str) -> str:
    """Return text with the meaning of an implausible amount and the likely intention; empty for a plausible amount."""
    parsed = quantity.parse(amount)
    if name == "cpu" and parsed > _MAX_CPUS:
        if amount.isdecimal():
            return f"{amount} CPUs; did you mean {amount}m?"
        return f"{float(parsed):.3g} CPUs; write CPUs as 2 or 500m, or set memory instead"
    if name in ("memory", "ephemeral-storage", "storage") and 0 < parsed < _MIN_BYTES:
        return f"{_bytes(parsed)}; {_probably(amount)}"
    return ""


def _bytes(amount: int | Fraction) -> str:
    return f"{amount} bytes" if amount > 1 else f"{float(amount):.3g} of a byte" if amount < 1 else "one byte"


def _probably(amount: str) -> str:
    number = amount.rstrip("kKimun")
    unit = "M" if amount.endswith("m") else "G"
    return f"did you mean {number}{unit} or {number}{unit}i?"


RULES: Final = (Rule("odd-amount", "warning", "The amount of a resource probably has the wrong unit.", _check),)

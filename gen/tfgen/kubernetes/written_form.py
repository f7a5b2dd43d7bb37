"""Objects in the notation of the operators' webhooks, so that a comparison finds only real differences.

A webhook of an operator reads an object into Go types, and writes the object as JSON. In this JSON, each quantity is a
string, each resourceFieldRef has a divisor, and a variable whose value is an empty text lacks the key `value`.

>>> written_form({"limits": {"cpu": 2}})
{'limits': {'cpu': '2'}}
>>> written_form({"resourceFieldRef": {"resource": "limits.cpu"}})
{'resourceFieldRef': {'divisor': '0', 'resource': 'limits.cpu'}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tfgen.kubernetes import quantity

_AMOUNTS: Final = ("limits", "requests")
_FIELD: Final = "resourceFieldRef"
_VARIABLE: Final = {"name", "value"}


def written_form(value: Any) -> Any:
    """Return plain data, with quantities, divisors and variables as in the JSON of an operator's webhook."""
    if isinstance(value, list | tuple):
        return [written_form(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == _VARIABLE and value["value"] == "":
        return {"name": value["name"]}
    return {key: _entry(key, written_form(item)) for key, item in value.items()}


def _entry(key: str, item: Any) -> Any:
    if key == _FIELD and isinstance(item, Mapping):
        return {"divisor": "0", **item}
    if key in _AMOUNTS and isinstance(item, Mapping):
        return {name: _amount(amount) for name, amount in item.items()}
    return item


def _amount(amount: Any) -> Any:
    try:
        return quantity.canonical(amount)
    except (TypeError, ValueError):
        return amount

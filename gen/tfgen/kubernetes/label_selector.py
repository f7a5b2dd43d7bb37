"""Whether labels are those that a LabelSelector or a NodeSelector asks for.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector matches: an empty one matches everything."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    return wanted.items() <= labels.items() and meets(selector.get("matchExpressions") or (), labels)


def meets(expressions: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> bool:
    """Whether labels meet all of some requirements, those of nodes (Gt, Lt) among them."""
    return all(_holds(expression, labels) for expression in expressions)


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt" as operator:
            return _compares(operator, labels.get(key), values)
        case _:
            return False


def _compares(operator: str, label: str | None, values: Iterable[str]) -> bool:
    """Whether a label is a number on the asked side of another; what is no number is on neither."""
    try:
        number, (bound,) = int(label or ""), map(int, values)
    except ValueError:
        return False
    return number > bound if operator == "Gt" else number < bound

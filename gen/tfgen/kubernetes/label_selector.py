"""Matches of labels with a LabelSelector or a NodeSelector.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector matches labels. An empty selector matches all labels."""
    required: Mapping[str, str] = selector.get("matchLabels") or {}
    return required.items() <= labels.items() and meets(selector.get("matchExpressions") or (), labels)


def meets(expressions: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> bool:
    """Return whether labels meet all requirements. Requirements of nodes (Gt, Lt) are supported."""
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
    """Return whether a label is a number greater or less than the value. Text that is not a number never compares."""
    try:
        number, (bound,) = int(label or ""), map(int, values)
    except ValueError:
        return False
    return number > bound if operator == "Gt" else number < bound

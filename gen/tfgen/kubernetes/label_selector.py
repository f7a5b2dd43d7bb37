"""Evaluation of label selectors and node selectors.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector matches the labels of an object. An empty selector matches every object."""
    required: Mapping[str, str] = selector.get("matchLabels") or {}
    return required.items() <= labels.items() and meets(selector.get("matchExpressions") or (), labels)


def meets(expressions: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> bool:
    """Return whether labels meet all expressions of a selector, including the operators Gt and Lt of node selectors."""
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
    """Test whether `label`, the value of a label, is greater or less than the only item of `values`.

    The operator is `Gt` or `Lt`. The result is False if a value is not a number.
    """
    try:
        number, (bound,) = int(label or ""), map(int, values)
    except ValueError:
        return False
    return number > bound if operator == "Gt" else number < bound

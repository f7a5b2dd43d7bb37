"""Selectors: a workload's matches its own pods, and no other selects nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.check.object_checks.fault import Fault, FieldPath, Objects

_OF_A_WORKLOAD: Final = ("Deployment", "StatefulSet")

_PATHS: Final[Mapping[str, FieldPath]] = {
    "Service": ("spec", "selector"),
    "NetworkPolicy": ("spec", "podSelector"),
    "PodDisruptionBudget": ("spec", "selector"),
}
"""Where an object says which pods it is about. A Service's is a plain map of labels."""


def check(objects: Objects) -> Iterator[Fault]:
    """Each selector without a pod."""
    for pods in objects.pods:
        kind = pods.owner["kind"]
        if kind in _OF_A_WORKLOAD and not matches(pods.owner["spec"]["selector"], pods.labels):
            yield Fault(pods.owner, ("spec", "selector"), "its selector does not match the labels of its own pods")
    if not all(pods.is_complete for pods in objects.pods):
        return
    for kind, path in _PATHS.items():
        for item in objects.of_kind(kind):
            label_selector = selector(item)
            if label_selector is not None and not any(matches(label_selector, pods.labels) for pods in objects.pods):
                yield Fault(item, path, "it selects no pod of the job")


def selector(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The LabelSelector of an object that selects pods; None where it has none."""
    labels: Mapping[str, Any] | None = data_path.at(item, _PATHS[item["kind"]])
    return {"matchLabels": labels} if item["kind"] == "Service" and labels is not None else labels


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector matches: an empty one matches everything.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    expressions: Iterable[Mapping[str, Any]] = selector.get("matchExpressions") or ()
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(expression, labels) for expression in expressions
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels

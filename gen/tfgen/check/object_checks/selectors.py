"""Check of selectors: the selector of a workload must match its pods, and every other selector must match some pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.kubernetes.label_selector import matches

_OF_A_WORKLOAD: Final = ("Deployment", "StatefulSet")

_PATHS: Final[Mapping[str, FieldPath]] = {
    "Service": ("spec", "selector"),
    "NetworkPolicy": ("spec", "podSelector"),
    "PodDisruptionBudget": ("spec", "selector"),
}
"""The path of the field that selects pods, by the kind. The selector of a Service is a plain map of labels."""


def check(objects: Objects) -> Iterator[Fault]:
    """Yield a fault for each selector that matches no pods."""
    for pods in objects.pods:
        kind = pods.owner["kind"]
        if kind in _OF_A_WORKLOAD and not matches(pods.owner["spec"]["selector"], pods.labels):
            yield Fault(pods.owner, ("spec", "selector"), "the selector does not match the labels of the pods")
    if not all(pods.has_all_labels for pods in objects.pods):
        return
    for kind, path in _PATHS.items():
        for item in objects.of_kind(kind):
            label_selector = selector(item)
            if label_selector is not None and not any(matches(label_selector, pods.labels) for pods in objects.pods):
                yield Fault(item, path, "the selector matches no pod of the job")


def selector(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the LabelSelector with which an object selects pods, or None."""
    labels: Mapping[str, Any] | None = data_path.at(item, _PATHS[item["kind"]])
    return {"matchLabels": labels} if item["kind"] == "Service" and labels is not None else labels

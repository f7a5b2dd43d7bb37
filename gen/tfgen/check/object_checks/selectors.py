"""Selectors: a workload's matches its own pods, and no other selects nothing."""

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

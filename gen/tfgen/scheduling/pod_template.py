"""Pod templates with the labels that a controller adds. tfgen splits a template whose pods differ for the scheduler.

A StatefulSet sets labels on a pod, such as the pod's index, that no other pod has. A topology spread or an
anti-affinity that reads such a label treats the pods differently, so the pods are no longer equal for the scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeAlias

from tfgen.kubernetes.labels import AddedLabels, matches
from tfgen.record import Record
from tfgen.scheduling import anti_affinity
from tfgen.scheduling.anti_affinity import label_keys

LabelReader: TypeAlias = tuple[Mapping[str, Any], Sequence[str]]
"""A label selector and its `matchLabelKeys`: label keys whose values come from the pod that has the selector."""


class PodTemplate(Record):
    """A template of equal pods, before tfgen adds data of a cluster. `PodSet` describes the fields with the same names.

    Attributes:
        added: the labels that the controller adds to the pods.
    """

    owner: str
    role: str
    namespace: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    count: int
    in_gang: bool = False
    doubts: tuple[str, ...] = ()
    added: AddedLabels = AddedLabels()


class LabelReaders:
    """The label selectors of all pods that the scheduler considers.

    Attributes:
        keys: the label keys that the selectors read.
        copied: the label keys in `matchLabelKeys` and `mismatchLabelKeys`. Kubernetes compares the values of such a
            label in two pods: in the pod that has the selector, and in the pod that the selector may match.
    """

    def __init__(self, specs: Iterable[Mapping[str, Any]]) -> None:
        readers = [reader for spec in specs for reader in _label_readers(spec)]
        self._selectors = [selector for selector, _ in readers]
        self.copied = {key for _, keys in readers for key in keys}
        self.keys = self.copied.union(*map(label_keys, self._selectors))

    def deciding_keys(self, keys: Set[str], labels: Mapping[str, str]) -> set[str]:
        """Return the label keys whose values decide if a selector matches a pod.

        A selector that does not match the other labels of the pod has no influence.

        Args:
            keys: the label keys to examine.
            labels: the labels of the pod.
        """
        return {
            key
            for selector in (self.selectors(keys) if keys & self.keys else ())
            for key in keys & _compared_keys(selector)
            if matches(_without(selector, keys), labels)
        }

    def selectors(self, keys: Set[str]) -> list[Mapping[str, Any]]:
        """Return the selectors that read at least one of the label keys."""
        return [selector for selector in self._selectors if label_keys(selector) & keys]


def split(template: PodTemplate, readers: LabelReaders) -> Iterator[PodTemplate]:
    """Yield a template for each group of equal pods of a template.

    Pods are equal if the label selectors in `readers` treat the pods equally. For example, if an anti-affinity term
    selects only the pod with the index 0 of a StatefulSet, this pod is one group, and the other pods are another group.
    The labels of each yielded template include the labels that the controller adds.
    """
    added = template.added
    opaque = dict.fromkeys(added.opaque, f"? of {added.controller}")  # equal to no value of a real label
    labels = {**template.labels, **added.common, **opaque}
    doubts = (
        f"only Kubernetes can compute the label {key} of the pods of the {added.controller}, "
        "and a label selector reads this label"
        for key in sorted(readers.deciding_keys(added.opaque, labels))
    )
    whole = template.replaced(labels=labels, doubts=(*template.doubts, *doubts))
    numbered = readers.keys & {key for of_pod in added.numbered[:1] for key in of_pod}
    if not numbered:
        yield whole
        return
    copied, selectors = sorted(numbered & readers.copied), readers.selectors(numbered)
    counts: Counter[tuple[object, ...]] = Counter()
    first: dict[tuple[object, ...], Mapping[str, str]] = {}
    for of_pod in added.numbered:
        all_labels = {**labels, **of_pod}
        group = (*(of_pod[key] for key in copied), *(matches(selector, all_labels) for selector in selectors))
        counts[group] += 1
        first.setdefault(group, all_labels)
    for group, count in counts.items():
        yield whole.replaced(labels=first[group], count=count)


def _label_readers(spec: Mapping[str, Any]) -> Iterator[LabelReader]:
    """Yield the label selector and the copied label keys of each topology spread and anti-affinity term in a PodSpec.

    The copied label keys are the items of `matchLabelKeys` and `mismatchLabelKeys`.
    """
    yield from anti_affinity.selectors_of(spec)
    for constraint in spec.get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
            yield constraint.get("labelSelector") or {}, constraint.get("matchLabelKeys") or ()


def _compared_keys(selector: Mapping[str, Any]) -> set[str]:
    expressions = selector.get("matchExpressions") or ()
    values = {expression["key"] for expression in expressions if expression["operator"] in ("In", "NotIn")}
    return {*(selector.get("matchLabels") or {}), *values}


def _without(selector: Mapping[str, Any], keys: Set[str]) -> Mapping[str, Any]:
    """Return a label selector without the requirements for the given label keys."""
    labels = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or ()
    return {
        "matchLabels": {key: value for key, value in labels.items() if key not in keys},
        "matchExpressions": [expression for expression in expressions if expression["key"] not in keys],
    }

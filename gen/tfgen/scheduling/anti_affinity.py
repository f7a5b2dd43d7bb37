"""Terms of required pod anti-affinity. A term of a pod keeps selected other pods away from the pod's node or zone.

https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.kubernetes.labels import matches
from tfgen.record import Record

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that Kubernetes sets on every namespace. The value is the name of the namespace."""
_TERMS: Final = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


class Term(Record):
    """A term of a pod's required anti-affinity.

    Attributes:
        key: the topology key, which is a label of nodes. Nodes with the same value of the label form one domain.
        selector: the label selector of the pods that the term forbids in the domain.
        namespaces: the namespaces of the forbidden pods.
        namespace_labels: the label selector of additional namespaces; None if the term has no `namespaceSelector`.
    """

    key: str
    selector: Mapping[str, Any]
    namespaces: frozenset[str]
    namespace_labels: Mapping[str, Any] | None

    def selects(self, labels: Mapping[str, str], namespace: str, labels_of: Mapping[str, Mapping[str, str]]) -> bool:
        """Test whether the term selects a pod, and so keeps the pod away.

        Args:
            labels: the labels of the pod.
            namespace: the namespace of the pod.
            labels_of: the labels of each known namespace. Example: {"ml": {"kubernetes.io/metadata.name": "ml"}}.
        """
        is_selected = namespace in self.namespaces or (
            self.namespace_labels is not None
            and matches(self.namespace_labels, labels_of.get(namespace, {NAMESPACE_NAME: namespace}))
        )
        return is_selected and matches(self.selector, labels)

    def needs_namespace(
        self, labels: Mapping[str, str], namespace: str, labels_of: Mapping[str, Mapping[str, str]]
    ) -> bool:
        """Test whether the result of `selects` depends on the labels of a namespace that is not in `labels_of`."""
        if namespace in self.namespaces or namespace in labels_of or not self.namespace_labels:
            return False
        return label_keys(self.namespace_labels) != {NAMESPACE_NAME} and matches(self.selector, labels)


def terms_of(spec: Mapping[str, Any], labels: Mapping[str, str], namespace: str) -> tuple[Term, ...]:
    """Return the terms of a pod's required anti-affinity, from its PodSpec, its labels and its namespace."""
    return tuple(_terms(spec, labels, namespace))


def selectors_of(spec: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Sequence[str]]]:
    """Yield the label selector of each required anti-affinity term in a PodSpec, with the label keys of the term.

    The label keys are the items of `matchLabelKeys` and `mismatchLabelKeys`. Kubernetes takes the values of these
    labels from the pod itself. Example: ({"matchLabels": {"app": "mnist"}}, ["pod-template-hash"]).
    """
    for term in data_path.at(spec, _TERMS) or ():
        yield term.get("labelSelector") or {}, [*(term.get("matchLabelKeys") or ()), *_mismatched(term)]


def label_keys(selector: Mapping[str, Any]) -> set[str]:
    """Return the label keys that a label selector reads."""
    expressions = selector.get("matchExpressions") or ()
    return {*(selector.get("matchLabels") or {}), *(expression["key"] for expression in expressions)}


def _terms(spec: Mapping[str, Any], labels: Mapping[str, str], namespace: str) -> Iterator[Term]:
    for term in data_path.at(spec, _TERMS) or ():
        selector = term.get("labelSelector")
        if selector is None:
            continue  # Kubernetes lets a missing selector match no pod
        namespaces, by_labels = term.get("namespaces") or (), term.get("namespaceSelector")
        is_default = not namespaces and by_labels is None
        equal = ((key, "In") for key in term.get("matchLabelKeys") or ())
        different = ((key, "NotIn") for key in _mismatched(term))
        added = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for key, operator in (*equal, *different)
            if key in labels
        ]
        yield Term(
            key=term["topologyKey"],
            selector={**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *added]},
            namespaces=frozenset((namespace,) if is_default else namespaces),
            namespace_labels=by_labels,
        )


def _mismatched(term: Mapping[str, Any]) -> Sequence[str]:
    return term.get("mismatchLabelKeys") or ()

"""Pods before tfgen adds data of a cluster: amounts, label selectors, host ports, and templates of equal pods.

Amounts are whole numbers in the units that the scheduler compares; CPU is in thousandths of a core. See Resource.Add in
https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/framework/types.go
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tfgen import data_path
from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import AddedLabels, matches
from tfgen.kubernetes.pods import Profile, pod_requests
from tfgen.record import EMPTY, Record

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

Counts: TypeAlias = Mapping[str, int]

PODS: Final = "pods"
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that Kubernetes sets on every namespace. The value is the name of the namespace."""
NODE_ITSELF: Final = ""
"""A topology key of tfgen: each node is a domain of its own."""
_CPU: Final = "cpu"
_MILLI: Final = 1000
_MOST: Final = (1 << 63) - 1
"""The largest amount. Kubernetes replaces a larger amount."""
_ANTI_AFFINITY: Final = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_NO_POD: Final = {"matchExpressions": [{"key": "", "operator": "Exists"}]}
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104  # the value of an empty hostIP, not a socket


def counts_of(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Convert the quantities of resources, such as `status.allocatable` of a node, to whole numbers.

    Example: {"cpu": "500m", "memory": "1Ki"} becomes {"cpu": 500, "memory": 1024}.

    Raises:
        ValueError: a value is not a quantity.
    """
    return {resource: _count(resource, quantity.parse(value)) for resource, value in quantities.items()}


def counts_of_pod(spec: Mapping[str, Any], status: Mapping[str, Any] = EMPTY) -> dict[str, int]:
    """Return the amounts of resources that a pod uses on a node, without zeros.

    The amounts are the requests of the pod, and 1 for the resource `pods`. Example: {"pods": 1, "cpu": 500}.

    Args:
        spec: the PodSpec.
        status: the PodStatus of a running pod; empty for a pod that does not run yet.

    Raises:
        ValueError: an amount is not a quantity.
    """
    requests = {resource: _count(resource, value) for resource, value in pod_requests(spec, status).items()}
    return {PODS: 1} | {resource: value for resource, value in requests.items() if value > 0}


def amount_of(resource: str, number: int) -> Amount:
    """Convert a whole number to the usual unit of a resource. Only the amount of CPU changes.

    Example: 2000 thousandths of a core become 2 cores. Bytes and devices remain unchanged.
    """
    whole, remainder = divmod(number, _MILLI)
    if resource != _CPU:
        return number
    if not remainder:
        return whole
    from fractions import Fraction  # the import takes 10 ms, and most commands do not need it

    return Fraction(number, _MILLI)


def _count(resource: str, value: Amount) -> int:
    return min(math.ceil(value * _MILLI if resource == _CPU else value), _MOST)


class Term(Record):
    """A term of a pod's required anti-affinity. The term keeps selected pods away from the pod's node or zone.

    https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity

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
        is_selected = namespace in self.namespaces
        if not is_selected and self.namespace_labels is not None:
            is_selected = matches(self.namespace_labels, labels_of.get(namespace, {NAMESPACE_NAME: namespace}))
        return is_selected and matches(self.selector, labels)

    def needs_namespace(
        self, labels: Mapping[str, str], namespace: str, labels_of: Mapping[str, Mapping[str, str]]
    ) -> bool:
        """Test whether the result of `selects` depends on the labels of a namespace that is not in `labels_of`."""
        if namespace in self.namespaces or namespace in labels_of or not self.namespace_labels:
            return False
        return label_keys(self.namespace_labels) != {NAMESPACE_NAME} and matches(self.selector, labels)


class Spread(Record):
    """A topology spread constraint with `whenUnsatisfiable: DoNotSchedule`.

    https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/

    Attributes:
        key: the node label. Nodes with the same value of the label are one domain.
        selector: the label selector of the counted pods, in the namespace of the pod that has the constraint.
        min_domains: the field `minDomains`. With fewer domains, the scheduler takes 0 as the smallest number of pods.
        by_selection: whether the constraint considers only the nodes that the pod selects.
        by_taints: whether the constraint considers only the nodes whose taints the pod tolerates.
    """

    key: str
    max_skew: int
    selector: Mapping[str, Any]
    min_domains: int
    by_selection: bool
    by_taints: bool


class HostPort(Record):
    """A port of the node that a container occupies."""

    address: str
    protocol: str
    port: int

    def conflicts(self, ports: Iterable[HostPort]) -> bool:
        """Test whether one of the ports is the same port of the node."""
        return any(
            (self.protocol, self.port) == (used.protocol, used.port)
            and (self.address == used.address or _ANY_ADDRESS in (self.address, used.address))
            for used in ports
        )


def terms_of(spec: Mapping[str, Any], labels: Mapping[str, str], namespace: str) -> tuple[Term, ...]:
    """Return the terms of a pod's required anti-affinity, from its PodSpec, its labels and its namespace."""
    terms = []
    for term in data_path.at(spec, _ANTI_AFFINITY) or ():
        selector = term.get("labelSelector")
        if selector is None:
            continue  # Kubernetes lets a missing selector match no pod
        namespaces, by_labels = term.get("namespaces") or (), term.get("namespaceSelector")
        is_default = not namespaces and by_labels is None
        added = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(field) or ()
            if key in labels
        ]
        whole = {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *added]}
        terms.append(Term(term["topologyKey"], whole, frozenset((namespace,) if is_default else namespaces), by_labels))
    return tuple(terms)


def spreads_of(spec: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[Spread]:
    """Yield the topology spread constraints of a pod that can keep the pod from a node."""
    for constraint in _hard_spreads(spec):
        selector = constraint.get("labelSelector")
        copied_labels = {key: labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels}
        if selector is not None:
            selector = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **copied_labels}}
        yield Spread(
            key=constraint["topologyKey"],
            max_skew=constraint["maxSkew"],
            selector=selector if selector is not None else _NO_POD,
            min_domains=constraint.get("minDomains") or 1,
            by_selection=constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
            by_taints=constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )


def host_ports_of(spec: Mapping[str, Any]) -> tuple[HostPort, ...]:
    """Return the ports of the node that a pod occupies while it runs. With hostNetwork, these are all its ports."""
    sidecars = [item for item in spec.get("initContainers") or () if item.get("restartPolicy") == "Always"]
    host_ports = []
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") else None)
            if number:
                host_ports.append(HostPort(port.get("hostIP") or _ANY_ADDRESS, port.get("protocol") or "TCP", number))
    return tuple(host_ports)


def label_keys(selector: Mapping[str, Any]) -> set[str]:
    """Return the label keys that a label selector reads."""
    expressions = selector.get("matchExpressions") or ()
    return {*(selector.get("matchLabels") or {}), *(expression["key"] for expression in expressions)}


def _hard_spreads(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for constraint in spec.get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
            yield constraint


class PodTemplate(Record):
    """A template of equal pods, before tfgen adds data of a cluster.

    Attributes:
        owner: the title of the run; empty for pods that already wait in the cluster and belong to no planned run.
        role: the role of the pods in the run.
        in_gang: True if the pods start only if the whole gang of their owner can start.
        doubts: the reasons, in words, why somebody else decides about the pods.
        added: the labels that the controller adds to the pods.
        weak_fields: the fields that the Pod Security profile restricted refuses, in words, each with the strongest
            profile that allows the field.
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
    weak_fields: tuple[tuple[Profile, str], ...] = ()


class LabelReaders:
    """The label selectors of all pods that the scheduler considers.

    Attributes:
        keys: the label keys that the selectors read.
        copied: the label keys in `matchLabelKeys` and `mismatchLabelKeys`. Kubernetes compares the values of such a
            label in two pods: in the pod that has the selector, and in the pod that the selector may match.
    """

    def __init__(self, specs: Iterable[Mapping[str, Any]]) -> None:
        readers = [
            reader for spec in specs for reader in (*(data_path.at(spec, _ANTI_AFFINITY) or ()), *_hard_spreads(spec))
        ]
        self._selectors = [reader.get("labelSelector") or {} for reader in readers]
        names = ("matchLabelKeys", "mismatchLabelKeys")
        self.copied = {key for reader in readers for name in names for key in reader.get(name) or ()}
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
    opaque_keys = sorted(readers.deciding_keys(added.opaque, labels))
    owner = f"of the pods of the {added.controller}, and a label selector reads this label"
    doubts = (f"only Kubernetes can compute the label {key} {owner}" for key in opaque_keys)
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

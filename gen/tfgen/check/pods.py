"""Pods of an object, and the connections between pods that NetworkPolicies allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.kubernetes import quantity
from tfgen.kubernetes.label_selector import matches
from tfgen.kubernetes.object import Object, group, literal_name
from tfgen.record import Record

FieldPath: TypeAlias = tuple[str | int, ...]

_KUBERNETES_GROUPS: Final = ("apps", "batch", "")


class Pods(Record):
    """A group of equal pods, which one pod template describes.

    Attributes:
        owner: the object that creates the pods.
        path: the path of the PodSpec in the object.
        count: the number of pods.
    """

    owner: Object
    path: FieldPath
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    count: int

    @cached_property
    def containers(self) -> tuple[tuple[FieldPath, Mapping[str, Any]], ...]:
        """Each container, with its path in the owner. The result includes init containers and sidecars."""
        return tuple(
            ((*self.path, field, index), container)
            for field in ("initContainers", "containers")
            for index, container in enumerate(self.spec.get(field, ()))
        )

    @cached_property
    def ports(self) -> tuple[Mapping[str, Any], ...]:
        """The ports of all containers."""
        return tuple(port for _, container in self.containers for port in container.get("ports", ()))

    @property
    def has_all_labels(self) -> bool:
        """True if `labels` contains all labels of the pods that a selector of the job may use.

        The result is False for a custom kind such as TFJob, because the operator may add labels.
        """
        return group(self.owner) in _KUBERNETES_GROUPS


def pods_of(item: Object) -> Iterator[Pods]:
    """Yield the pods of an object that tfgen generates. For an entry of `objects`, yield nothing."""
    if literal_name(item) is None:
        yield from _find_pods(item, is_literal=False)


def literal_pods(item: Object) -> Iterator[Pods]:
    """Yield the pods of an entry of `objects`. Pods whose fields have wrong types are left out."""
    if literal_name(item) is not None:
        yield from _find_pods(item, is_literal=True)


def _find_pods(owner: Object, *, is_literal: bool) -> Iterator[Pods]:
    templates: Iterable[tuple[FieldPath, Any, int]] = _templates((), owner, is_literal=is_literal)
    if owner["kind"] == "Pod":
        templates = [((), owner, 1)] if not is_literal or _has_shape(owner, 1) else ()
    for path, template, count in templates:
        metadata = template.get("metadata") or {}
        labels, annotations = (metadata.get(key) or {} for key in ("labels", "annotations"))
        yield Pods(owner, (*path, "spec"), labels, annotations, template["spec"], count)


def _templates(path: FieldPath, value: Any, *, is_literal: bool) -> Iterator[tuple[FieldPath, Any, int]]:
    """Yield the path, the pod template and the number of pods for each pod template in a value.

    In an entry of `objects`, the function searches only in mappings.
    """
    items: Iterable[tuple[Any, Any]] = () if is_literal else enumerate(value)
    for key, child in value.items() if isinstance(value, dict) else items:
        if not isinstance(child, dict | list):
            continue
        if key == "template":
            count = value.get("replicas", value.get("parallelism", 1))
            if _has_shape(child, count) if is_literal else _has_containers(child):
                yield (*path, key), child, count
                continue
        yield from _templates((*path, key), child, is_literal=is_literal)


def _has_containers(template: Any) -> bool:
    spec = data_path.at(template, ("spec",))
    return isinstance(spec, Mapping) and "containers" in spec


def _has_shape(template: Any, count: Any) -> bool:
    """Return True if a pod template and a number of pods have the types that Kubernetes requires."""
    if not _has_containers(template) or type(count) is not int:
        return False
    spec = template["spec"]
    parts = [data_path.at(template, ("metadata", key)) for key in ("labels", "annotations")]
    lists = [spec.get(key) or () for key in ("containers", "initContainers", "volumes")]
    are_lists = all(isinstance(items, list | tuple) and all(isinstance(i, Mapping) for i in items) for items in lists)
    if not are_lists or not all(isinstance(part, Mapping | None) for part in parts):
        return False
    resources = [spec.get("resources"), *(item.get("resources") for containers in lists[:2] for item in containers)]
    amounts = [spec.get("overhead")]
    amounts += [data_path.at(block, (key,)) for block in resources for key in ("limits", "requests")]
    return all(isinstance(block, Mapping | None) for block in (*resources, *amounts)) and all(
        quantity.is_quantity(amount) for block in amounts if block is not None for amount in block.values()
    )


# -- connections ---------------------------------------------------------------------------------------------------


class Port(NamedTuple):
    """A port number with its protocol."""

    number: int
    protocol: str = "TCP"


def allows_egress(policies: Sequence[Object], source: Pods, target: Pods | None, port: Port) -> bool:
    """Return True if the egress rules of `policies` let the pods `source` connect to `port` of the pods `target`.

    If `target` is None, the rules must allow `port` of any host.
    """
    return _allows(policies, source, "Egress", target, port)


def allows_ingress(policies: Sequence[Object], source: Pods, target: Pods, port: Port) -> bool:
    """Return True if the ingress rules of `policies` let the pods `source` connect to `port` of the pods `target`."""
    return _allows(policies, target, "Ingress", source, port)


def _allows(policies: Sequence[Object], subject: Pods, direction: str, peer: Pods | None, port: Port) -> bool:
    """Return True if `policies` allow the traffic at `port` between the pods `subject` and the pods `peer`.

    The direction is `Ingress` for traffic to `subject`, and `Egress` for traffic from `subject`. If no policy applies
    to `subject`, all traffic is allowed.

    https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation
    """
    applied = policies_for(policies, subject, direction)
    return not applied or any(
        _has_peer(rule.get("from" if direction == "Ingress" else "to"), peer)
        and _has_port(rule.get("ports"), port, subject)
        for rule in _rules(applied, direction)
    )


def allows_egress_outside(policies: Sequence[Object], source: Pods, port: Port) -> bool:
    """Return True if egress rules of `policies` let the pods `source` connect to `port` of a host outside the job."""
    applied = policies_for(policies, source, "Egress")
    return not applied or any(
        _may_be_outside(rule.get("to")) and _has_port(rule.get("ports"), port, None)
        for rule in _rules(applied, "Egress")
    )


def policies_for(policies: Sequence[Object], subject: Pods, direction: str) -> list[Object]:
    """Return the policies that apply to the pods `subject` in the direction `Ingress` or `Egress`."""
    applied = []
    for policy in policies:
        spec = policy["spec"]
        types = spec.get("policyTypes") or (["Ingress", "Egress"] if "egress" in spec else ["Ingress"])
        if matches(spec.get("podSelector") or {}, subject.labels) and direction in types:
            applied.append(policy)
    return applied


def _rules(policies: Sequence[Object], direction: str) -> list[Mapping[str, Any]]:
    return [rule or {} for policy in policies for rule in policy["spec"].get(direction.lower()) or ()]


def _has_peer(peers: Sequence[Mapping[str, Any]] | None, pods: Pods | None) -> bool:
    """Return True if a rule of a policy with the given peers allows `pods`. A rule without peers allows all pods.

    An ipBlock matches no pods.
    """
    if not peers:
        return True
    return pods is not None and any(
        "podSelector" in peer and "namespaceSelector" not in peer and matches(peer["podSelector"] or {}, pods.labels)
        for peer in peers
    )


def _may_be_outside(peers: Sequence[Mapping[str, Any]] | None) -> bool:
    """Return True if a rule with the given peers allows a host that may be outside the namespace."""
    return not peers or any("ipBlock" in peer or "namespaceSelector" in peer for peer in peers)


def _has_port(ports: Sequence[Mapping[str, Any]] | None, port: Port, pods: Pods | None) -> bool:
    """Return True if a rule with the given ports allows `port`. A port name in the rule refers to a port of `pods`."""
    if not ports:
        return True
    names = {entry.get("name") for entry in pods.ports if entry.get("containerPort") == port.number} if pods else set()
    for entry in ports:
        if entry.get("protocol", "TCP") == port.protocol:
            first = entry.get("port")
            if "port" not in entry or first in names:
                return True
            if isinstance(first, int) and first <= port.number <= entry.get("endPort", first):
                return True
    return False

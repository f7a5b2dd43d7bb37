"""The connections between pods that NetworkPolicies allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tfgen.kubernetes.labels import matches
from tfgen.kubernetes.object import Object
from tfgen.kubernetes.pods import Pods


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

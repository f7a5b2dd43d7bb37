"""What NetworkPolicies let through.

leaves(policies, worker, None, 53, "UDP")  ->  whether the worker's pods may ask DNS, wherever that is
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfgen.check.object_checks.pods import Pods
from tfgen.kubernetes.label_selector import matches
from tfgen.kubernetes.object import Object


def leaves(policies: Sequence[Object], source: Pods, target: Pods | None, port: int, protocol: str) -> bool:
    """Whether pods reach a port of others, or of anyone where the target is none."""
    return _admits(policies, source, "Egress", target, port, protocol, source)


def enters(policies: Sequence[Object], source: Pods, target: Pods, port: int) -> bool:
    """Whether pods let others in at a TCP port."""
    return _admits(policies, target, "Ingress", source, port, "TCP", target)


def _admits(
    policies: Sequence[Object],
    subject: Pods,
    direction: str,
    peer: Pods | None,
    port: int,
    protocol: str,
    target: Pods | None,
) -> bool:
    """Whether the policies of some pods allow a direction; those that no policy is about are open.

    https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation
    """
    about = governing(policies, subject, direction)
    return not about or any(
        _has_peer(rule.get("from" if direction == "Ingress" else "to"), peer)
        and _has_port(rule.get("ports"), port, protocol, target)
        for rule in _rules(about, direction)
    )


def may_leave(policies: Sequence[Object], source: Pods, port: int, protocol: str) -> bool:
    """Whether pods may reach a port of somebody outside the job, whose labels and address nobody here knows."""
    about = governing(policies, source, "Egress")
    return not about or any(
        _may_be_outside(rule.get("to")) and _has_port(rule.get("ports"), port, protocol, None)
        for rule in _rules(about, "Egress")
    )


def governing(policies: Sequence[Object], subject: Pods, direction: str) -> list[Object]:
    """The policies that are about a direction of some pods."""
    return [
        policy
        for policy in policies
        if matches(policy["spec"].get("podSelector") or {}, subject.labels) and direction in _types(policy["spec"])
    ]


def _rules(policies: Sequence[Object], direction: str) -> list[Mapping[str, Any]]:
    return [rule or {} for policy in policies for rule in policy["spec"].get(direction.lower()) or ()]


def _types(spec: Mapping[str, Any]) -> Sequence[str]:
    default = ["Ingress", "Egress"] if "egress" in spec else ["Ingress"]
    types: Sequence[str] = spec.get("policyTypes") or default
    return types


def _has_peer(peers: Sequence[Mapping[str, Any]] | None, pods: Pods | None) -> bool:
    """Whether a rule has a peer: any where it names none; an address block is never known to be a pod's."""
    if not peers:
        return True
    return pods is not None and any(
        "podSelector" in peer and "namespaceSelector" not in peer and matches(peer["podSelector"] or {}, pods.labels)
        for peer in peers
    )


def _may_be_outside(peers: Sequence[Mapping[str, Any]] | None) -> bool:
    """Whether a peer may be more than a pod of the namespace."""
    return not peers or any("ipBlock" in peer or "namespaceSelector" in peer for peer in peers)


def _has_port(ports: Sequence[Mapping[str, Any]] | None, port: int, protocol: str, target: Pods | None) -> bool:
    if not ports:
        return True
    names = {entry.get("name") for entry in target.ports if entry.get("containerPort") == port} if target else set()
    return any(
        entry.get("protocol", "TCP") == protocol
        and ("port" not in entry or entry["port"] in names or _in_range(entry, port))
        for entry in ports
    )


def _in_range(entry: Mapping[str, Any], port: int) -> bool:
    first = entry["port"]
    return isinstance(first, int) and first <= port <= entry.get("endPort", first)

"""Describes network policies in words, for the picture of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, literal_name
from tfgen.words import either


def network_notes(objects: Sequence[Object]) -> Iterator[tuple[str, str]]:
    """Yield (direction, text) for each direction in which a network policy in `objects` allows connections.

    The direction is "ingress" or "egress". The text lists the allowed connections, such as "worker: from tasks of this
    run on port 2222". For a job without a network policy, the only text is the warning that every pod of the cluster
    reaches the tasks.
    """
    policies = [item for item in objects if item["kind"] == "NetworkPolicy" and literal_name(item) is None]
    if not policies and any(item["kind"] == "Service" for item in objects):
        yield "ingress", "no network policy: every pod of the cluster reaches the tasks"
    for item in policies:
        spec = item["spec"]
        subject = spec["podSelector"].get("matchLabels", {}).get(keys.ROLE, "tasks")
        for direction, peer in (("ingress", "from"), ("egress", "to")):
            if spec.get(direction):
                yield direction, f"{subject}: {'; '.join(_rules(spec[direction], peer))}"


def _rules(rules: Sequence[Mapping[str, Any]], peer: str) -> Iterator[str]:
    for rule in rules:
        yield f"{peer} {_peers(rule.get(peer) or ())}{_ports(rule.get('ports') or ())}"


def _peers(peers: Sequence[Mapping[str, Any]]) -> str:
    return either([*dict.fromkeys(map(_peer, peers))], "and") if peers else "any address"


def _peer(peer: Mapping[str, Any]) -> str:
    if "ipBlock" in peer:
        return str(peer["ipBlock"]["cidr"])
    labels = (peer.get("podSelector") or {}).get("matchLabels", {})
    if keys.JOB in labels:
        return "tasks of this run"
    if "namespaceSelector" in peer:
        return "selected namespaces"
    return "selected pods of the namespace" if peer.get("podSelector") else "all pods of the namespace"


def _ports(ports: Sequence[Mapping[str, Any]]) -> str:
    numbers = [*dict.fromkeys(str(port["port"]) for port in ports if "port" in port)]
    return f" on port{'s' if len(numbers) > 1 else ''} {either(numbers, 'and')}" if numbers else ""

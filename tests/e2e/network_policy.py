"""NetworkPolicies as rules of nftables, for the pods of one node: the test double of a network plugin's agent.

    ruleset(pods, namespaces, policies, "10.244.0.0/24")   -> "table ip tfgen_policies ..." for `nft --file -`

No agent that is published as source builds here. This double applies the policies to the packets of real pods, by the
rules of https://kubernetes.io/docs/concepts/services-networking/network-policies/. The double supports IPv4 and all of
networking.k8s.io/v1. Like the agents, it accepts packets from the node itself, for the kubelet's probes. It drops
packets of an unknown pod address, so that a new pod is never open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

Object = Mapping[str, Any]

TABLE: Final = "tfgen_policies"

_ENDED: Final = ("Succeeded", "Failed")


def ruleset(pods: Iterable[Object], namespaces: Iterable[Object], policies: Iterable[Object], network: str) -> str:
    """Return the rules, which replace all earlier rules in one step.

    Args:
        pods: All pods of the cluster.
        namespaces: All namespaces of the cluster.
        policies: All policies of the cluster.
        network: The network of the pods' addresses.
    """
    running = [pod for pod in pods if _address(pod) and pod["status"]["phase"] not in _ENDED]
    labels = {namespace["metadata"]["name"]: _labels(namespace) for namespace in namespaces}
    policies = list(policies)
    chains: list[str] = []
    jumps: dict[str, list[str]] = {"Ingress": [], "Egress": []}
    for number, pod in enumerate(running):
        for direction, into in jumps.items():
            own = [policy for policy in policies if _governs(policy, pod, direction)]
            if own:
                name = f"{direction.lower()}_{number}"
                allowed = _Rules(running, labels, pod, direction).of(own)
                chains.append(_chain(name, f"{pod['metadata']['namespace']}/{pod['metadata']['name']}", allowed))
                into.append(f"{_address(pod)} : jump {name}")
    leaves, enters = _verdicts("saddr", jumps["Egress"]), _verdicts("daddr", jumps["Ingress"])
    known = ", ".join(sorted({_address(pod) for pod in running}))
    unknown = [f"ip {side} {network} ip {side} != {{ {known} }} drop" for side in ("saddr", "daddr") if known]
    hooks = (_hook("forward", [*unknown, *leaves, *enters]), _hook("input", leaves))
    body = "\n".join((*chains, *hooks))
    return f"table ip {TABLE}\ndelete table ip {TABLE}\ntable ip {TABLE} {{\n{body}\n}}\n"


class _Rules:
    """Connections in one direction that the policies of a pod allow."""

    def __init__(
        self, pods: Sequence[Object], namespaces: Mapping[str, Mapping[str, str]], pod: Object, direction: str
    ) -> None:
        self._pods, self._namespaces, self._pod = pods, namespaces, pod
        self._field, self._side = ("from", "saddr") if direction == "Ingress" else ("to", "daddr")
        self._rules, self._ingress = direction.lower(), direction == "Ingress"

    def of(self, policies: Iterable[Object]) -> list[str]:
        """Return each combination of a peer and a port that a policy allows."""
        found = {
            f"{peer}{port}return"
            for policy in policies
            for rule in policy["spec"].get(self._rules) or ()
            for peer in self._peers(rule, policy["metadata"]["namespace"])
            for port in self._ports(rule)
        }
        return sorted(found)

    def _peers(self, rule: Object, namespace: str) -> Iterator[str]:
        peers = rule.get(self._field)
        if not peers:
            yield ""
            return
        for peer in peers:
            if block := peer.get("ipBlock"):
                without = ", ".join(block.get("except", ()))
                yield f"ip {self._side} {block['cidr']} " + (f"ip {self._side} != {{ {without} }} " if without else "")
                continue
            for pod in self._pods:
                if self._selects(peer, pod, namespace):
                    yield f"ip {self._side} {_address(pod)} "

    def _selects(self, peer: Object, pod: Object, namespace: str) -> bool:
        home = pod["metadata"]["namespace"]
        if "namespaceSelector" in peer:
            if not _matches(peer["namespaceSelector"], self._namespaces.get(home, {})):
                return False
        elif home != namespace:
            return False
        return _matches(peer.get("podSelector") or {}, _labels(pod))

    def _ports(self, rule: Object) -> Iterator[str]:
        ports = rule.get("ports")
        if not ports:
            yield ""
            return
        for port in ports:
            protocol, number = port.get("protocol", "TCP").lower(), port.get("port")
            if number is None:
                yield f"meta l4proto {protocol} "
            elif isinstance(number, int):
                yield f"{protocol} dport {number}" + (f"-{port['endPort']} " if "endPort" in port else " ")
            else:
                # A named port is a port of the destination pod. For egress, each pod may be the destination.
                reached = [self._pod] if self._ingress else self._pods
                yield from (f"{protocol} dport {n} " for n in sorted(_named_ports(reached, number, protocol)))


def _named_ports(pods: Iterable[Object], name: str, protocol: str) -> set[int]:
    return {
        port["containerPort"]
        for pod in pods
        for container in pod["spec"]["containers"]
        for port in container.get("ports", ())
        if port.get("name") == name and port.get("protocol", "TCP").lower() == protocol
    }


def _governs(policy: Object, pod: Object, direction: str) -> bool:
    spec = policy["spec"]
    types = spec.get("policyTypes") or ["Ingress", *(["Egress"] if "egress" in spec else [])]
    same = policy["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same and direction in types and _matches(spec.get("podSelector") or {}, _labels(pod))


def _matches(selector: Object, labels: Mapping[str, str]) -> bool:
    """Test whether a label selector matches.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements
    """
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(expression, labels) for expression in selector.get("matchExpressions") or ())


def _holds(expression: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            raise ValueError(f"no such operator: {operator}")


def _labels(obj: Object) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _address(pod: Object) -> str:
    """Return the pod's own address. A pod on the node's network has none."""
    own = not pod["spec"].get("hostNetwork")
    return str(pod.get("status", {}).get("podIP", "")) if own else ""


def _chain(name: str, what: str, rules: Iterable[str]) -> str:
    lines = "\n".join(f"    {rule}" for rule in rules)
    return f"  chain {name} {{ # {what}\n{lines}\n    counter drop\n  }}"


def _verdicts(side: str, jumps: Sequence[str]) -> list[str]:
    return [f"ip {side} vmap {{ {', '.join(jumps)} }}"] if jumps else []


def _hook(name: str, rules: Iterable[str]) -> str:
    lines = "\n".join(f"    {rule}" for rule in rules)
    head = f"type filter hook {name} priority -5; policy accept;\n    ct state established,related accept"
    return f"  chain {name} {{\n    {head}\n{lines}\n  }}"

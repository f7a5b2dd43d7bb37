"""The connections that the NetworkPolicies of a job allow, according to a small model of Kubernetes.

https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation: A policy that
selects a pod and names a direction isolates the pod in the direction. The pod then allows the connections that any of
its policies allows. Both pods of a connection must allow the connection.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from tfgen.graph.built import plain_objects

JOB = """\
metadata: {name: mnist}
spec:
  run: r1
  image: registry.example.com/ml/mnist:1
  roles: {chief: {}, ps: {}, worker: {}, evaluator: {}}
  storage: {logs: {mountPath: /logs, claim: {name: logs}}}
  tensorboard: {logDir: /logs}
"""


@dataclass(frozen=True)
class Pod:
    """An end of a connection: a pod, or an address outside the cluster."""

    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: Mapping[str, str] = field(default_factory=lambda: {"kubernetes.io/metadata.name": "ml"})
    address: str = "10.0.0.1"


def task(role: str, run: str = "r1") -> Pod:
    return Pod({"tfgen/job": "mnist", "tfgen/run": run, "tfgen/role": role})


PODS = {
    "worker": task("worker"),
    "ps": task("ps"),
    "finisher": task("finisher"),
    "worker of r2": task("worker", "r2"),
    "tensorboard": Pod({"tfgen/job": "mnist", "tfgen/role": "tensorboard"}),
    "stranger": Pod({"app": "notebook"}),
    "proxy": Pod({"app": "proxy"}, {"kubernetes.io/metadata.name": "ingress"}),
    "outside": Pod(address="10.20.0.7", namespace={}),
}


def policies(spec: str) -> list[Any]:
    document = yaml.safe_load(JOB)
    document["spec"] |= yaml.safe_load(spec) or {}
    return [made["spec"] for made in plain_objects(document) if made["kind"] == "NetworkPolicy"]


def reaches(rules: list[Any], source: str, target: str, port: int, protocol: str = "TCP") -> bool:
    one, other = PODS[source], PODS[target]
    return _allowed(rules, "Egress", one, other, port, protocol) and _allowed(
        rules, "Ingress", other, one, port, protocol
    )


def _allowed(rules: list[Any], direction: str, of: Pod, peer: Pod, port: int, protocol: str) -> bool:
    peers = {"Ingress": "from", "Egress": "to"}[direction]
    mine = [rule for rule in rules if direction in rule["policyTypes"] and _selects(rule["podSelector"], of.labels)]
    allowing = [rule for policy in mine for rule in policy.get(direction.lower(), [])]
    return not mine or any(
        ("ports" not in rule or {"port": port, "protocol": protocol} in rule["ports"])
        and (peers not in rule or any(_is(each, peer) for each in rule[peers]))
        for rule in allowing
    )


def _is(peer: Any, pod: Pod) -> bool:
    if "ipBlock" in peer:
        return ipaddress.ip_address(pod.address) in ipaddress.ip_network(peer["ipBlock"]["cidr"])
    namespace = peer.get("namespaceSelector", {"matchLabels": {"kubernetes.io/metadata.name": "ml"}})
    return _selects(namespace, pod.namespace) and _selects(peer.get("podSelector", {}), pod.labels)


def _selects(selector: Any, labels: Mapping[str, str]) -> bool:
    assert selector.keys() <= {"matchLabels"}
    return selector.get("matchLabels", {}).items() <= labels.items()


@pytest.mark.parametrize(
    ("source", "target", "port", "expected"),
    [
        ("worker", "ps", 2222, True),
        ("worker", "ps", 40000, True),  # NCCL and tf.data choose their ports at their start
        ("stranger", "ps", 2222, False),
        ("outside", "ps", 2222, False),
        ("worker of r2", "ps", 2222, False),
        ("tensorboard", "ps", 2222, False),
        ("worker", "outside", 443, True),
        ("stranger", "tensorboard", 6006, True),
        ("worker", "tensorboard", 6006, True),
        ("stranger", "tensorboard", 22, False),
        ("proxy", "tensorboard", 6006, False),
        ("outside", "tensorboard", 6006, False),
    ],
)
def test_by_default_nobody_reaches_the_tasks_and_the_namespace_reads_tensorboard(source, target, port, expected):
    assert reaches(policies(""), source, target, port) is expected


@pytest.mark.parametrize(
    ("source", "target", "port", "expected"),
    [
        ("worker", "ps", 40000, True),
        ("worker", "outside", 53, True),
        ("worker", "outside", 443, False),
        ("worker", "outside", 6443, False),
        ("worker", "stranger", 8080, False),
        ("worker", "tensorboard", 6006, False),
        ("finisher", "outside", 443, True),
        ("finisher", "outside", 6443, True),
        ("finisher", "outside", 8080, False),
        ("tensorboard", "outside", 53, False),
        ("stranger", "tensorboard", 6006, True),
        ("stranger", "ps", 2222, False),
    ],
)
def test_limited_egress(source, target, port, expected):
    assert reaches(policies("network: {egress: {limited: true}}"), source, target, port) is expected


def test_names_are_asked_for_by_udp_too():
    limited = policies("network: {egress: {limited: true}}")
    assert reaches(limited, "worker", "outside", 53, "UDP")
    assert not reaches(limited, "worker", "outside", 123, "UDP")


def test_rules_add_ways_out():
    limited = policies(
        "network: {egress: {limited: true, rules: ["
        "{to: [{ipBlock: {cidr: 10.20.0.0/16}}], ports: [{port: 443, protocol: TCP}]}, "
        "{to: [{podSelector: {matchLabels: {app: notebook}}}]}]}}"
    )
    assert reaches(limited, "worker", "outside", 443)
    assert reaches(limited, "worker", "stranger", 8080)
    assert not reaches(limited, "worker", "outside", 80)
    assert not reaches(limited, "worker", "proxy", 8080)


def test_the_api_server_may_listen_at_another_port():
    ways = "[{to: [{ipBlock: {cidr: 10.20.0.0/16}}], ports: [{port: 8443, protocol: TCP}]}]"
    limited = policies(f"network: {{egress: {{limited: true, apiServer: {ways}}}}}")
    assert reaches(limited, "finisher", "outside", 8443)
    assert not reaches(limited, "finisher", "outside", 443)
    assert not reaches(limited, "worker", "outside", 8443)


def test_no_way_to_the_api_server_is_no_policy():
    rules = "rules: [{ports: [{port: 8443, protocol: TCP}]}]"
    limited = policies(f"network: {{egress: {{limited: true, apiServer: [], {rules}}}}}")
    assert reaches(limited, "finisher", "outside", 8443)
    assert [rule for rule in limited if rule["podSelector"]["matchLabels"].get("tfgen/role") == "finisher"] == []


def test_rules_say_nothing_where_egress_is_not_limited():
    assert policies("network: {egress: {rules: [{ports: [{port: 443}]}]}}") == policies("")


def test_readers():
    ingress = "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}"
    read = policies(f"tensorboard: {{logDir: /logs, readers: [{ingress}]}}")
    assert reaches(read, "proxy", "tensorboard", 6006)
    assert not reaches(read, "stranger", "tensorboard", 6006)
    assert not reaches(read, "proxy", "ps", 6006)


def test_no_policy_at_all():
    assert policies('network: {policy: "Off"}') == []


def test_a_finisher_that_is_not_there_needs_no_way_out():
    limited = "network: {egress: {limited: true}}"
    kept = f"{limited}\ncompletion: {{release: Keep}}"
    of = [{p["podSelector"]["matchLabels"].get("tfgen/role") for p in policies(spec)} for spec in (limited, kept)]
    assert of == [{None, "finisher", "tensorboard"}, {None, "tensorboard"}]
    assert policies(f"{kept}\nstartDeadline: 60") == policies(limited)

"""Ports: a name of one is the name of a port in what it leads to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.check.object_checks.pods import Pods
from tfgen.check.object_checks.selectors import selector
from tfgen.kubernetes.label_selector import matches
from tfgen.kubernetes.object import Object

_PROBES: Final = ("readinessProbe", "livenessProbe", "startupProbe")
_ACTIONS: Final = ("httpGet", "tcpSocket")


def check(objects: Objects) -> Iterator[Fault]:
    """Each name of a port that no container has, and each that two of a pod have."""
    for pods in objects.pods:
        yield from _of_pods(pods)
    for item in (*objects.of_kind("Service"), *objects.of_kind("NetworkPolicy")):
        label_selector = selector(item)
        chosen = [pods for pods in objects.pods if label_selector is not None and matches(label_selector, pods.labels)]
        known = {port.get("name") for pods in chosen for port in pods.ports}
        for path, port in _named_ports(item):
            if chosen and port not in known:
                yield Fault(item, path, f"it leads to the port {port}, which no pod that it selects has")


def _named_ports(item: Object) -> Iterator[tuple[FieldPath, str]]:
    """The names of ports in the pods that a Service or a policy selects."""
    spec = item["spec"]
    if item["kind"] == "Service":
        for index, port in enumerate(spec.get("ports", ())):
            if isinstance(port.get("targetPort"), str):
                yield ("spec", "ports", index, "targetPort"), port["targetPort"]
        return
    for index, rule in enumerate(spec.get("ingress") or ()):
        for number, port in enumerate(rule.get("ports") or ()):
            if isinstance(port.get("port"), str):
                yield ("spec", "ingress", index, "ports", number, "port"), port["port"]


def _of_pods(pods: Pods) -> Iterator[Fault]:
    names = Counter(port["name"] for port in pods.ports if "name" in port)
    for name, times in names.items():
        if times > 1:
            yield Fault(pods.owner, (*pods.path, "containers"), f"{times} ports of its pod have the name {name}")
    for path, container in pods.containers:
        known = {port.get("name") for port in container.get("ports", ())}
        for probe in _PROBES:
            for action in _ACTIONS:
                port = ((container.get(probe) or {}).get(action) or {}).get("port")
                if isinstance(port, str) and port not in known:
                    message = f"the {probe} of its container {container['name']} asks the port {port}, which it lacks"
                    yield Fault(pods.owner, (*path, probe, action, "port"), message)

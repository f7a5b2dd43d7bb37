"""Check of port names: a Service, a policy or a probe must name a port of the pods."""

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
    """Yield a fault for each port name that no container has, and for each port name that occurs twice in a pod."""
    for pods in objects.pods:
        yield from _pod_ports(pods)
    for item in (*objects.of_kind("Service"), *objects.of_kind("NetworkPolicy")):
        label_selector = selector(item)
        chosen = [pods for pods in objects.pods if label_selector is not None and matches(label_selector, pods.labels)]
        names = {port.get("name") for pods in chosen for port in pods.ports}
        for path, port in _named_ports(item):
            if chosen and port not in names:
                yield Fault(item, path, f"the selected pods have no port {port}")


def _named_ports(item: Object) -> Iterator[tuple[FieldPath, str]]:
    """Yield (path, port name) for each port name in a Service or a NetworkPolicy. A selected pod must have the port."""
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


def _pod_ports(pods: Pods) -> Iterator[Fault]:
    names = Counter(port["name"] for port in pods.ports if "name" in port)
    for name, times in names.items():
        if times > 1:
            yield Fault(pods.owner, (*pods.path, "containers"), f"{times} ports of its pod have the name {name}")
    for path, container in pods.containers:
        container_ports = {port.get("name") for port in container.get("ports", ())}
        for probe in _PROBES:
            for action in _ACTIONS:
                port = ((container.get(probe) or {}).get(action) or {}).get("port")
                if isinstance(port, str) and port not in container_ports:
                    message = (
                        f"the {probe} of its container {container['name']} uses the port {port}, which does not exist"
                    )
                    yield Fault(pods.owner, (*path, probe, action, "port"), message)

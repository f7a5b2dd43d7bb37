"""Checks that the objects of a job fit together: links, gangs, hosts in TF_CONFIG, and network policies.

The objects that tfgen renders fit together, unless a `podTemplate` removes a field that a different object needs, or
tfgen has a defect.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.errors import Severity
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, matches
from tfgen.kubernetes.pods import FieldPath, Pods, pods_of
from tfgen.record import Record
from tfgen.words import count


class Port(NamedTuple):
    """A port number with its protocol."""

    number: int
    protocol: str = "TCP"


def allows(policies: Sequence[Object], subject: Pods, direction: str, peer: Pods | None, port: Port) -> bool:
    """Return True if `policies` allow the traffic at `port` between the pods `subject` and the pods `peer`.

    The direction is `Ingress` for traffic to `subject`, and `Egress` for traffic from `subject`. If no policy applies
    to `subject`, all traffic is allowed. If `peer` is None, the rules must allow `port` of any host.

    https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation
    """
    applied = policies_for(policies, subject, direction)
    key, receiver = ("from", subject) if direction == "Ingress" else ("to", peer)
    return not applied or any(
        _has_peer(rule.get(key), peer) and _has_port(rule.get("ports"), port, receiver)
        for rule in _rules(applied, direction)
    )


def allows_egress_outside(policies: Sequence[Object], source: Pods, port: Port) -> bool:
    """Return True if egress rules of `policies` let the pods `source` connect to `port` of a host outside the job."""
    applied = policies_for(policies, source, "Egress")
    rules = [rule for rule in _rules(applied, "Egress") if _has_port(rule.get("ports"), port, None)]
    peers = [peer for rule in rules for peer in rule.get("to") or ()]
    is_open = not applied or any(not rule.get("to") for rule in rules)
    return is_open or any("ipBlock" in peer or "namespaceSelector" in peer for peer in peers)


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


def _has_port(ports: Sequence[Mapping[str, Any]] | None, port: Port, pods: Pods | None) -> bool:
    """Return True if a rule with the given ports allows `port`.

    A port name in the rule refers to a port of `pods`, the pods that receive the traffic.
    """
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


OBJECT_LINKS: Final = "object-links"


class ObjectFault(NamedTuple):
    """A mistake in an object.

    Attributes:
        item: the object.
        path: the path of the field in the object.
        message: the message.
        rule: the id of the rule.
        job_key: the key of the job that sets the field; empty for no such key. None if the table of rules for single
            fields (`object_table`) does not contain the rule.
    """

    item: Object
    path: FieldPath
    message: str
    rule: str = OBJECT_LINKS
    severity: Severity = "error"
    job_key: str | None = None


class Objects(Record):
    """The objects of one environment, and the names to which the objects may refer.

    Attributes:
        items: the objects that tfgen creates.
        texts: all texts in the job. If an object refers to a Secret that the job does not create, for example, the name
            of the Secret must be one of these texts.
        min_available: the minimum size of the gang that the job sets; 0 for the default.
        literals: the entries of `objects`, which may have any shape.
    """

    items: tuple[Object, ...]
    texts: frozenset[str] = frozenset()
    min_available: int = 0
    literals: tuple[Object, ...] = ()

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The groups of equal pods that the objects create."""
        return tuple(pods for item in self.items for pods in pods_of(item))

    def of_kind(self, kind: str) -> tuple[Object, ...]:
        """Return the objects of the kind `kind`, of any API group, except the entries of `objects`."""
        return tuple(item for item in self.items if item["kind"] == kind)

    def selected(self, item: Object) -> tuple[Pods, ...] | None:
        """Return the pods that a Service, a NetworkPolicy or a PodDisruptionBudget selects; None without a selector."""
        selector = data_path.at(item, _SELECTORS[item["kind"]])
        if selector is None:
            return None
        if item["kind"] == "Service":  # the selector of a Service is a plain map of labels
            selector = {"matchLabels": selector}
        return tuple(pods for pods in self.pods if matches(selector, pods.labels))


_SELECTORS: Final[Mapping[str, FieldPath]] = {
    "Service": ("spec", "selector"),
    "NetworkPolicy": ("spec", "podSelector"),
    "PodDisruptionBudget": ("spec", "selector"),
}
"""The path of the field that selects pods, by the kind."""


def find_contradictions(objects: Objects) -> Iterator[ObjectFault]:
    """Yield each fault in the objects of one environment, because two objects, or two parts of a pod, do not fit."""
    for check in (_hosts, _gangs, _names, _ports, _references, _selectors):
        yield from check(objects)


def _names(objects: Objects) -> Iterator[ObjectFault]:
    for pods in objects.pods:
        for name in _duplicates(container["name"] for _, container in pods.containers):
            yield ObjectFault(pods.owner, pods.path, f"several containers of its pod have the name {name}")
        for name in _duplicates(volume["name"] for volume in pods.spec.get("volumes", ())):
            yield ObjectFault(pods.owner, (*pods.path, "volumes"), f"several volumes of its pod have the name {name}")


def _duplicates(names: Iterable[Any]) -> list[Any]:
    return [name for name, times in Counter(names).items() if times > 1]


def _selectors(objects: Objects) -> Iterator[ObjectFault]:
    for pods in objects.pods:
        owner = pods.owner
        is_workload = owner["kind"] in ("Deployment", "StatefulSet")
        if is_workload and not matches(owner["spec"]["selector"], pods.labels):
            yield ObjectFault(owner, ("spec", "selector"), "the selector does not match the labels of the pods")
    if all(pods.has_all_labels for pods in objects.pods):
        for kind, path in _SELECTORS.items():
            for item in objects.of_kind(kind):
                if objects.selected(item) == ():
                    yield ObjectFault(item, path, "the selector matches no pod of the job")


# -- ports ---------------------------------------------------------------------------------------------------------


def _ports(objects: Objects) -> Iterator[ObjectFault]:
    """Yield a fault for each port name that no container has, and for each port name that occurs twice in a pod."""
    for pods in objects.pods:
        names = Counter(port["name"] for port in pods.ports if "name" in port)
        for name, times in names.items():
            if times > 1:
                yield ObjectFault(
                    pods.owner, (*pods.path, "containers"), f"{times} ports of its pod have the name {name}"
                )
        for path, container in pods.containers:
            yield from _probe_ports(pods.owner, path, container)
    for item in (*objects.of_kind("Service"), *objects.of_kind("NetworkPolicy")):
        if selected := objects.selected(item):
            names_of_pods = {port.get("name") for pods in selected for port in pods.ports}
            for path, port in _named_ports(item):
                if port not in names_of_pods:
                    yield ObjectFault(item, path, f"the selected pods have no port {port}")


def _probe_ports(owner: Object, path: FieldPath, container: Mapping[str, Any]) -> Iterator[ObjectFault]:
    names = {port.get("name") for port in container.get("ports", ())}
    for probe, action in product(("readinessProbe", "livenessProbe", "startupProbe"), ("httpGet", "tcpSocket")):
        port = data_path.at(container, (probe, action, "port"))
        if isinstance(port, str) and port not in names:
            message = f"the {probe} of its container {container['name']} uses the port {port}, which does not exist"
            yield ObjectFault(owner, (*path, probe, action, "port"), message)


def _named_ports(item: Object) -> Iterator[tuple[FieldPath, str]]:
    """Yield the path and the name for each port name in a Service or a NetworkPolicy that a selected pod must have."""
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


# -- references ----------------------------------------------------------------------------------------------------


class Reference(NamedTuple):
    """A reference of an object to another object, or to a key of the other object.

    `path` is the path of the reference in the object. `kind`, `name` and `key` identify the other object or its key.
    """

    path: FieldPath
    kind: str
    name: str
    key: str | None = None


def _references(objects: Objects) -> Iterator[ObjectFault]:
    """Yield a fault for each reference to an object that neither exists nor has its name in the job, or to no key."""
    named: dict[tuple[str, str], Object] = {}
    for item in (*objects.items, *objects.literals):
        named.setdefault((item["kind"], item["metadata"]["name"]), item)
    of_pods = ((pods.owner, reference) for pods in objects.pods for reference in _pod_references(pods))
    of_items = ((item, reference) for item in objects.items for reference in _object_references(item))
    for item, (path, kind, name, key) in (*of_pods, *of_items):
        target = named.get((kind, name))
        if target is None:
            if name not in objects.texts:
                message = f"the {kind} {name} does not exist, and the job file does not name the object"
                yield ObjectFault(item, path, message)
        elif key is not None:
            parts = (target.get(field) for field in ("data", "binaryData", "stringData"))
            if not any(key in part for part in parts if isinstance(part, Mapping)):
                yield ObjectFault(item, path, f"the {kind} {name} has no key {key}")


def _pod_references(pods: Pods) -> Iterator[Reference]:
    for index, volume in enumerate(pods.spec.get("volumes", ())):
        path = (*pods.path, "volumes", index)
        yield from _volume_references(path, volume, "secretName")
        projected = (volume.get("projected") or {}).get("sources") or ()
        for number, source in enumerate(projected):
            yield from _volume_references((*path, "projected", "sources", number), source, "name")
    for path, container in pods.containers:
        yield from _variable_references(path, container)
    account = pods.spec.get("serviceAccountName", "default")
    if account != "default":
        yield Reference((*pods.path, "serviceAccountName"), "ServiceAccount", account)
    if priority := pods.spec.get("priorityClassName"):
        yield Reference((*pods.path, "priorityClassName"), "PriorityClass", priority)
    if subdomain := pods.spec.get("subdomain"):
        yield Reference((*pods.path, "subdomain"), "Service", subdomain)
    for index, secret in enumerate(pods.spec.get("imagePullSecrets", ())):
        yield Reference((*pods.path, "imagePullSecrets", index), "Secret", secret["name"])


def _volume_references(path: FieldPath, source: Mapping[str, Any], name_of_secret: str) -> Iterator[Reference]:
    """Yield the references of a volume, or of a source of a projected volume.

    Args:
        path: the path of the volume or of the source in the object.
        source: the volume or the source.
        name_of_secret: the field with the name of a Secret, which differs between a volume and a source.
    """
    for field, kind, name in (
        ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", name_of_secret),
    ):
        reference = source.get(field)
        if reference and name in reference and not reference.get("optional"):
            yield Reference((*path, field, name), kind, reference[name])
            for item in reference.get("items") or ():
                yield Reference((*path, field, "items"), kind, reference[name], item["key"])


def _variable_references(path: FieldPath, container: Mapping[str, Any]) -> Iterator[Reference]:
    variables = [variable.get("valueFrom") or {} for variable in container.get("env", ())]
    sources = [((*path, "env", index, "valueFrom"), source, "KeyRef") for index, source in enumerate(variables)]
    from_all = container.get("envFrom", ())
    sources += [((*path, "envFrom", index), source, "Ref") for index, source in enumerate(from_all)]
    for source_path, source, suffix in sources:
        for kind, field in (("ConfigMap", f"configMap{suffix}"), ("Secret", f"secret{suffix}")):
            reference = source.get(field)
            if reference and not reference.get("optional"):
                key = reference["key"] if suffix == "KeyRef" else None
                yield Reference((*source_path, field), kind, reference["name"], key)


def _object_references(item: Object) -> Iterator[Reference]:
    if item["kind"] == "StatefulSet":
        yield Reference(("spec", "serviceName"), "Service", item["spec"]["serviceName"])
    if item["kind"] == "RoleBinding":
        yield Reference(("roleRef",), item["roleRef"]["kind"], item["roleRef"]["name"])
        for index, subject in enumerate(item.get("subjects", ())):
            yield Reference(("subjects", index), subject["kind"], subject["name"])


# -- gangs ---------------------------------------------------------------------------------------------------------

_BINDINGS: Final = frozenset((keys.GROUP_NAME, keys.POD_GROUP, keys.KAI_GROUP, keys.KOORDINATOR_GROUP))
"""The annotations and labels with which a pod names its group."""


def _gangs(objects: Objects) -> Iterator[ObjectFault]:
    """Yield a fault for each pod whose PodGroup does not exist, and for each PodGroup with a wrong size.

    A PodGroup must wait for all its pods, or for the minimum number that the job sets.
    """
    groups = {group["metadata"]["name"]: group for group in objects.of_kind("PodGroup")}
    members: Counter[str] = Counter()
    for pods in objects.pods:
        names = {value for key, value in (*pods.annotations.items(), *pods.labels.items()) if key in _BINDINGS}
        kubernetes_group = data_path.at(pods.spec, ("schedulingGroup", "podGroupName"))
        for name in names | ({kubernetes_group} if kubernetes_group else set()):
            members[name] += pods.count
            if name not in groups:
                yield ObjectFault(
                    pods.owner, pods.path[:-1], f"the pods are in the PodGroup {name}, which does not exist"
                )
    for name, group in groups.items():
        # The field with the minimum number of pods depends on the scheduler.
        path: FieldPath = ("spec", "minMember")
        if "schedulingPolicy" in group["spec"]:
            path = ("spec", "schedulingPolicy", "gang", "minCount")
        minimum, required = data_path.at(group, path), objects.min_available or members[name]
        if minimum is not None and minimum > members[name]:
            message = f"the PodGroup waits for {minimum} pods, but has {members[name]} pods"
            yield ObjectFault(group, path, message)
        elif minimum is not None and minimum != required:
            message = f"the PodGroup waits for {minimum} pods, but the gang of the job has {required} pods"
            yield ObjectFault(group, path, message)


# -- hosts in TF_CONFIG --------------------------------------------------------------------------------------------

_HOST: Final = re.compile(r"(?P<owner>.+)-(?P<index>[0-9]+)\.(?P<service>[^.:]+):(?P<port>[0-9]+)")
_DNS: Final = (Port(53, "UDP"), Port(53))


class Host(NamedTuple):
    """Address of a task in TF_CONFIG, with the group of equal pods to which the task belongs."""

    text: str
    pods: Pods
    port: int


def _hosts(objects: Objects) -> Iterator[ObjectFault]:
    """Yield a fault for each host without a pod, and for each connection between two hosts that a policy blocks."""
    by_owner = {pods.owner["metadata"]["name"]: pods for pods in reversed(objects.pods)}
    # The operator of a custom kind chooses the names of its pods.
    of_operator = next((pods for pods in objects.pods if not pods.has_all_labels), None)
    for item in objects.of_kind("ConfigMap"):
        for key, value in (item.get("data") or {}).items():
            hosts = []
            for text in _host_list(value):
                host = _host(text, by_owner, of_operator)
                if isinstance(host, Host):
                    hosts.append(host)
                else:
                    yield ObjectFault(item, ("data", key), f"the host {text} {host}")
            for message in _blocked_connections(objects.of_kind("NetworkPolicy"), hosts):
                yield ObjectFault(item, ("data", key), message)


def _host_list(value: str) -> Sequence[str]:
    """Return the hosts in a value of a ConfigMap, which is JSON such as {"ps": ["mnist-ps-0.mnist:2222"], ...}.

    Return an empty list for a value of any other form.
    """
    if not value.startswith("{"):
        return ()
    try:
        lists = json.loads(value)
    except ValueError:
        return ()
    is_host_list = isinstance(lists, dict) and all(isinstance(hosts, list) for hosts in lists.values())
    return [str(host) for hosts in lists.values() for host in hosts] if is_host_list else ()


def _host(text: str, pods_by_owner: Mapping[str, Pods], of_operator: Pods | None) -> Host | str:
    """Return the host for a text such as `mnist-ps-0.mnist:2222`, or the end of the message for a wrong host."""
    match = _HOST.fullmatch(text)
    if match is None:
        return "is not of the form NAME-INDEX.SERVICE:PORT"
    owner, index, port = match["owner"], int(match["index"]), int(match["port"])
    pods = pods_by_owner.get(owner)
    if pods is None:
        return Host(text, of_operator, port) if of_operator else "is not a pod of any object"
    if index >= pods.count:
        return f"does not exist, because {pods.owner['kind']} {owner} has only {count(pods.count, 'pod')}"
    service = pods.owner["spec"].get("serviceName", pods.spec.get("subdomain"))
    if pods.has_all_labels and service != match["service"]:
        return f"is in the Service {match['service']}, but its pod is in the Service {service}"
    if port not in (entry.get("containerPort") for entry in pods.ports):
        return f"has the port {port}, but its pod has no such port"
    return Host(text, pods, port)


def _blocked_connections(policies: Sequence[Object], hosts: Sequence[Host]) -> Iterator[str]:
    """Yield a message for each connection between two hosts that a policy blocks. Equal pods count as one host."""
    distinct = list({(id(host.pods), host.port): host for host in reversed(hosts)}.values())[::-1]
    for source in distinct:
        for port in _DNS:
            if not allows(policies, source.pods, "Egress", None, port):
                yield f"the policies block DNS requests of {source.text} ({port.protocol} {port.number})"
        for target in distinct:
            if not allows(policies, source.pods, "Egress", target.pods, Port(target.port)):
                yield f"the policies block egress from {source.text} to {target.text}"
            if not allows(policies, target.pods, "Ingress", source.pods, Port(target.port)):
                yield f"the policies block ingress from {source.text} to {target.text}"

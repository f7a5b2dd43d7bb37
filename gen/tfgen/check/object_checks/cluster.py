"""Check of the hosts in TF_CONFIG: each host must be a pod of the job, and all hosts must reach each other.

A value of a ConfigMap lists hosts if the value is a JSON object of lists: {"ps": ["mnist-ps-0.mnist:2222"], ...}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tfgen.check.object_checks import policies
from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.check.object_checks.pods import Pods
from tfgen.check.object_checks.policies import Port
from tfgen.kubernetes.object import Object
from tfgen.plural import count

_HOST: Final = re.compile(r"(?P<owner>.+)-(?P<index>[0-9]+)\.(?P<service>[^.:]+):(?P<port>[0-9]+)")
_DNS: Final = (Port(53, "UDP"), Port(53))


class Host(NamedTuple):
    """Address of a task in TF_CONFIG, with the group of equal pods to which the task belongs."""

    text: str
    pods: Pods
    port: int


def check(objects: Objects) -> Iterator[Fault]:
    """Yield a fault for each host without a pod, and for each connection between two hosts that a policy blocks."""
    for item in objects.of_kind("ConfigMap"):
        for key, value in (item.get("data") or {}).items():
            hosts = []
            for text in _host_list(value):
                host = _host(objects, text)
                if isinstance(host, Host):
                    hosts.append(host)
                else:
                    yield Fault(item, ("data", key), f"the host {text} {host}")
            yield from _blocked_connections(objects, item, ("data", key), hosts)


def _host_list(value: str) -> Sequence[str]:
    if not value.startswith("{"):
        return ()
    try:
        lists = json.loads(value)
    except ValueError:
        return ()
    is_host_list = isinstance(lists, dict) and all(isinstance(hosts, list) for hosts in lists.values())
    return [str(host) for hosts in lists.values() for host in hosts] if is_host_list else ()


def _host(objects: Objects, text: str) -> Host | str:
    """Return the host for a text such as `mnist-ps-0.mnist:2222`, or the end of the message for a wrong host."""
    match = _HOST.fullmatch(text)
    if match is None:
        return "is not of the form NAME-INDEX.SERVICE:PORT"
    owner, index, port = match["owner"], int(match["index"]), int(match["port"])
    pods = objects.pods_by_owner.get(owner)
    if pods is None:
        # The operator of a custom kind chooses the names of its pods.
        operator_pods = next((pods for pods in objects.pods if not pods.has_all_labels), None)
        return Host(text, operator_pods, port) if operator_pods else "is not a pod of any object"
    if index >= pods.count:
        return f"does not exist, because {pods.owner['kind']} {owner} has only {count(pods.count, 'pod')}"
    service = pods.owner["spec"].get("serviceName", pods.spec.get("subdomain"))
    if pods.has_all_labels and service != match["service"]:
        return f"is in the Service {match['service']}, but its pod is in the Service {service}"
    if port not in pods.port_numbers:
        return f"has the port {port}, but its pod has no such port"
    return Host(text, pods, port)


# -- network policies ----------------------------------------------------------------------------------------------


def _blocked_connections(objects: Objects, item: Object, path: FieldPath, hosts: Sequence[Host]) -> Iterator[Fault]:
    """Yield a fault for each connection between two hosts that a policy blocks. Equal pods count as one host."""
    distinct = list({(id(host.pods), host.port): host for host in reversed(hosts)}.values())[::-1]
    job_policies = objects.of_kind("NetworkPolicy")
    for source in distinct:
        for port in _DNS:
            if not policies.allows_egress(job_policies, source.pods, None, port):
                message = f"the policies block DNS requests of {source.text} ({port.protocol} {port.number})"
                yield Fault(item, path, message)
        for target in distinct:
            if not policies.allows_egress(job_policies, source.pods, target.pods, Port(target.port)):
                yield Fault(item, path, f"the policies block egress from {source.text} to {target.text}")
            if not policies.allows_ingress(job_policies, source.pods, target.pods, Port(target.port)):
                yield Fault(item, path, f"the policies block ingress from {source.text} to {target.text}")

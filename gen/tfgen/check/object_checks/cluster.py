"""The cluster: each host that TensorFlow is told of is a pod that will be there, and that the others may reach.

A host list is a ConfigMap's value that is a JSON object of lists: {"ps": ["mnist-ps-0.mnist:2222"], ...}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tfgen.check.object_checks import policies
from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.check.object_checks.pods import Pods
from tfgen.kubernetes.object import Object

_HOST: Final = re.compile(r"(?P<owner>.+)-(?P<index>[0-9]+)\.(?P<service>[^.:]+):(?P<port>[0-9]+)")
_DNS: Final = ((53, "UDP"), (53, "TCP"))


class Host(NamedTuple):
    """A task's address, and the pods that it is one of."""

    text: str
    pods: Pods
    port: int


def check(objects: Objects) -> Iterator[Fault]:
    """Each host without a pod, and each way between two hosts that a policy closes."""
    for item in objects.of_kind("ConfigMap"):
        for key, value in (item.get("data") or {}).items():
            hosts = []
            for text in _host_list(value):
                host = _host(objects, text)
                if isinstance(host, Host):
                    hosts.append(host)
                else:
                    yield Fault(item, ("data", key), f"its host {text} {host}")
            yield from _closed(objects, item, ("data", key), hosts)


def _host_list(value: str) -> Sequence[str]:
    if not value.startswith("{"):
        return ()
    try:
        lists = json.loads(value)
    except ValueError:
        return ()
    is_one = isinstance(lists, dict) and all(isinstance(hosts, list) for hosts in lists.values())
    return [str(host) for hosts in lists.values() for host in hosts] if is_one else ()


def _host(objects: Objects, text: str) -> Host | str:
    """The host, or what is wrong with it."""
    match = _HOST.fullmatch(text)
    if match is None:
        return "is not of the form NAME-INDEX.SERVICE:PORT"
    owner, index, port = match["owner"], int(match["index"]), int(match["port"])
    pods = objects.pods_by_owner.get(owner)
    if pods is None:
        # A custom kind's operator names its pods in its own way.
        made_by_operator = next((pods for pods in objects.pods if not pods.is_complete), None)
        return Host(text, made_by_operator, port) if made_by_operator else "is a pod of no object"
    if index >= pods.count:
        return f"is beyond the {pods.count} of {pods.owner['kind']} {owner}"
    service = pods.owner["spec"].get("serviceName", pods.spec.get("subdomain"))
    if pods.is_complete and service != match["service"]:
        return f"is in the Service {match['service']}, and its pod in {service}"
    if port not in pods.port_numbers:
        return f"has the port {port}, which its pod lacks"
    return Host(text, pods, port)


# -- network policies ----------------------------------------------------------------------------------------------


def _closed(objects: Objects, item: Object, path: FieldPath, hosts: Sequence[Host]) -> Iterator[Fault]:
    """The ways between two hosts that a policy closes. Of equal pods only the first is tried."""
    distinct = list({(id(host.pods), host.port): host for host in reversed(hosts)}.values())[::-1]
    ours = objects.of_kind("NetworkPolicy")
    for one in distinct:
        for port, protocol in _DNS:
            if not policies.leaves(ours, one.pods, None, port, protocol):
                yield Fault(item, path, f"the policies keep {one.text} from asking DNS ({protocol} {port})")
        for other in distinct:
            if not policies.leaves(ours, one.pods, other.pods, other.port, "TCP"):
                yield Fault(item, path, f"the policies let nothing out of {one.text} to {other.text}")
            if not policies.enters(ours, one.pods, other.pods, other.port):
                yield Fault(item, path, f"the policies let nothing from {one.text} in to {other.text}")

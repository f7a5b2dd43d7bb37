"""Devices that pods claim by dynamic resource allocation (DRA), and the free devices of each node.

A plan counts devices as amounts of a node, such as CPU. The name of the amount is the resource name that Kubernetes
itself gives to each DeviceClass: `deviceclass.resource.kubernetes.io/CLASS`. If a claim has selectors, the name also
contains the selectors.

https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, literal_name
from tfgen.record import EMPTY, Record
from tfgen.scheduling.cluster import NOT_FOUND, Cluster, Node, namespace_of, read
from tfgen.scheduling.pods import Counts, counts_of_pod

DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
"""The prefix of the resource name of each DeviceClass."""

_QUOTA_KEYS: Final = ("deviceclass.resource.k8s.io/devices", "resourceclaims.resource.k8s.io")

DeviceId: TypeAlias = tuple[str, str, str]
"""The driver, the pool and the name of a device."""
PodId: TypeAlias = tuple[str, str]
"""The namespace and the name of a pod."""


class DeviceRequest(Record):
    """Devices that each pod of a PodSpec requests.

    Attributes:
        selectors: the CEL expressions of the claim that each device must meet.
        extended: the extended resource that the class offers; empty for a claim.
        is_gpu: False for a claim that the job does not make from `gpu.deviceClass`, such as a claim of a network card.
    """

    device_class: str
    selectors: tuple[str, ...] = ()
    count: int = 1
    extended: str = ""
    is_gpu: bool = True

    @property
    def resource(self) -> str:
        """The resource name of the devices."""
        name = self.extended or f"{DEVICE_CLASS}{self.device_class}"
        return f"{name} with {' && '.join(self.selectors)}" if self.selectors else name


class Device(Record):
    """A device in a ResourceSlice.

    Attributes:
        node: the name of the node; empty if the device does not belong to exactly one node.
        attributes: the attributes, by domain and name. Example: {("gpu.nvidia.com", "type"): {"string": "gpu"}}.
        flaw: the reason why tfgen cannot count the device, in words; empty if tfgen counts the device.
    """

    id: DeviceId
    node: str
    attributes: Mapping[tuple[str, str], Mapping[str, Any]]
    flaw: str


class Claimed(Record):
    """The devices that each pod of a PodSpec claims.

    Attributes:
        counts: the number of devices of each resource name, without the devices that tfgen cannot count.
        obstacle: the reason why no pod can start, in words; empty if a pod can start.
        doubt: the reason why tfgen cannot count the claimed devices, in words; empty if tfgen counts all devices.
        offer: the reason why a node may offer an extended resource that `status.allocatable` does not contain, in
            words; empty if tfgen counts all extended resources.
    """

    counts: Counts = EMPTY
    obstacle: str = ""
    doubt: str = ""
    offer: str = ""


class _UnknownError(Exception):
    """tfgen cannot evaluate a part of a claim or of a ResourceSlice. The text of the error is the reason."""


class _MissingError(Exception):
    """An object that a claim needs does not exist. The text of the error names the object."""


class Devices:
    """The devices of a cluster that the pods of a plan claim.

    Attributes:
        others: the resource names of the devices that no pod claims as GPUs.

    Args:
        cluster: the cluster, together with the objects that the planned runs create.
        pods: the namespace and the PodSpec of each set of pods.
    """

    def __init__(self, cluster: Cluster, pods: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        self._cluster = cluster
        all_requests = [
            request
            for namespace, spec in pods
            for request in (*_extended_requests(spec, cluster), *self._claims(namespace, spec)[0])
        ]
        requests = {request.resource: request for request in all_requests}
        self.others = requests.keys() - {request.resource for request in all_requests if request.is_gpu}
        self._extended = {resource for resource, request in requests.items() if request.extended}
        self._devices = {device.id: device for device in _devices(cluster)} if requests else {}
        self._ids: dict[str, frozenset[DeviceId]] = {}
        self._reasons: dict[str, str] = {}
        for resource, request in requests.items():
            try:
                self._ids[resource] = self._matching(request)
            except _UnknownError as error:
                self._reasons[resource] = str(error)
        for resource, ids in self._ids.items():
            for other in (name for name, others in self._ids.items() if name != resource and ids & others):
                self._reasons.setdefault(resource, f"pods of the plan also request the devices as {other}")

    def claimed(self, namespace: str, spec: Mapping[str, Any]) -> Claimed:
        """Return the devices that each pod of a PodSpec claims."""
        requests, obstacle, doubt = self._claims(namespace, spec)
        doubts = [doubt, *(self._reasons.get(request.resource, "") for request in requests)]
        if requests:
            doubts += _quota_doubts(namespace, requests, self._cluster)
        counts: Counter[str] = Counter()
        for request in requests:
            if request.resource not in self._reasons:
                counts[request.resource] += request.count
        offers = (self._reasons.get(request.resource, "") for request in _extended_requests(spec, self._cluster))
        return Claimed(counts, obstacle, next(filter(None, doubts), ""), next(filter(None, offers), ""))

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes of the cluster, with the claimed devices as amounts."""
        if not self._ids:
            return self._cluster.nodes
        owners = _owners(self._cluster)
        return tuple(self._with_devices(node, owners) for node in self._cluster.nodes)

    def _with_devices(self, node: Node, owners: Mapping[DeviceId, Sequence[PodId | None]]) -> Node:
        pods = {(pod.namespace, pod.name): pod for pod in node.pods}
        free = {**node.free}
        for resource in self._ids.keys() - self._reasons.keys():
            allocatable = free.get(resource, 0) + sum(pod.requests.get(resource, 0) for pod in node.pods)
            if resource in self._extended and allocatable:
                continue  # a device plugin offers the resource on the node, and the scheduler uses no class
            ids = {number for number in self._ids[resource] if self._devices[number].node == node.name}
            used: Counter[PodId | None] = Counter()
            for number in ids & owners.keys():
                used[next((user for user in owners[number] if user in pods), None)] += 1
            free[resource] = len(ids) - used.total()
            for pod, count in used.items():
                if pod is not None and resource not in pods[pod].requests:
                    pods[pod] = pods[pod].replaced(requests={**pods[pod].requests, resource: count})
        return node.replaced(free=free, pods=tuple(pods.values()))

    def _claims(self, namespace: str, spec: Mapping[str, Any]) -> tuple[list[DeviceRequest], str, str]:
        """Return the device requests of a PodSpec, the obstacle of the pods, and the doubt about the requests."""
        try:
            return [*_claim_requests(namespace, spec, self._cluster)], "", ""
        except _MissingError as error:
            return [], f"{error} does not exist", ""
        except _UnknownError as error:
            return [], "", str(error)

    def _matching(self, request: DeviceRequest) -> frozenset[DeviceId]:
        """Return the devices that meet the selectors of a request and of its class.

        Raises:
            _UnknownError: tfgen cannot evaluate a selector or a device.
        """
        for kind in ("ResourceSlice", "ResourceClaim"):
            if kind not in self._cluster.known_kinds and not self._cluster.objects.get(kind):
                raise _UnknownError(f"tfgen finds no {kind} {NOT_FOUND}")
        device_class = _find("DeviceClass", request.device_class, "", self._cluster)
        of_class = read(lambda item: _expressions(item.get("spec") or {}), device_class)
        expressions = (*of_class, *request.selectors)
        found = [device for device in self._devices.values() if all(_meets(device, text) for text in expressions)]
        if flaw := next((device.flaw for device in found if device.flaw), ""):
            raise _UnknownError(flaw)
        return frozenset(device.id for device in found)


def _extended_requests(spec: Mapping[str, Any], cluster: Cluster) -> Iterator[DeviceRequest]:
    """Yield a request for each extended resource of a PodSpec that a DeviceClass offers.

    https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource
    """
    counts = counts_of_pod(spec)
    for item in cluster.of_kind("DeviceClass"):
        for resource in _extended_names(item) & counts.keys():
            yield DeviceRequest(item["metadata"]["name"], extended=resource)


def _extended_names(device_class: Object) -> set[str]:
    """Return the names of the extended resources that a DeviceClass offers."""
    own = (device_class.get("spec") or {}).get("extendedResourceName")
    return {f"{DEVICE_CLASS}{device_class['metadata']['name']}", *([own] if own else [])}


def _claim_requests(namespace: str, spec: Mapping[str, Any], cluster: Cluster) -> Iterator[DeviceRequest]:
    """Yield the device requests of the claims that each pod of a PodSpec gets.

    Raises:
        _MissingError: a ResourceClaimTemplate or a DeviceClass does not exist.
        _UnknownError: tfgen cannot evaluate a claim.
    """
    for entry in spec.get("resourceClaims") or ():
        name = entry.get("resourceClaimTemplateName")
        if not name:
            raise _UnknownError(f"several pods may use the ResourceClaim {entry.get('resourceClaimName')}")
        for request in read(_template_requests, _find("ResourceClaimTemplate", name, namespace, cluster)):
            _find("DeviceClass", request.device_class, "", cluster)
            yield request


def _template_requests(template: Object) -> list[DeviceRequest]:
    """Return the device requests of a ResourceClaimTemplate."""
    devices = (template["spec"]["spec"] or {}).get("devices") or {}
    is_gpu = literal_name(template) is None and keys.COMPONENT in (template["metadata"].get("labels") or {})
    requests = []
    for request in devices.get("requests") or ():
        exact = request.get("exactly") or {}
        unread = ["constraints"] if devices.get("constraints") else []
        unread += [key for key in request if key not in ("name", "exactly")]
        read_fields = ("allocationMode", "count", "deviceClassName", "selectors")
        unread += [key for key, value in exact.items() if key not in read_fields and value]
        unread += ["allocationMode"] if exact.get("allocationMode", "ExactCount") != "ExactCount" else []
        if unread:
            name = template["metadata"]["name"]
            raise _UnknownError(f"tfgen cannot evaluate the {unread[0]} of the ResourceClaimTemplate {name}")
        number = int(exact.get("count", 1))
        requests.append(DeviceRequest(exact["deviceClassName"], _expressions(exact), number, is_gpu=is_gpu))
    return requests


def _expressions(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the CEL expressions in the selectors of a DeviceClass or of a request."""
    return tuple(selector["cel"]["expression"] for selector in data.get("selectors") or ())


def _find(kind: str, name: str, namespace: str, cluster: Cluster) -> Object:
    item = cluster.find(kind, name, namespace)
    if item is None and kind in cluster.known_kinds:
        raise _MissingError(f"the {kind} {name}")
    if item is None:
        raise _UnknownError(f"tfgen finds no {kind} {name} {NOT_FOUND}")
    return item


def _quota_doubts(namespace: str, requests: Iterable[DeviceRequest], cluster: Cluster) -> Iterator[str]:
    """Yield a text for each key of a quota that counts the claims of a pod.

    Kubernetes also counts a claimed device as the extended resource of its class:
    https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/quota/v1/evaluator/core/resource_claims.go
    """
    classes = (cluster.find("DeviceClass", request.device_class) for request in requests)
    extended = {f"requests.{name}" for item in classes if item for name in _extended_names(item)}
    for quota in cluster.of_kind("ResourceQuota", namespace):
        for key in (quota.get("spec") or {}).get("hard") or ():
            if key.endswith(_QUOTA_KEYS) or key in extended:
                yield f"the ResourceQuota {quota['metadata']['name']} limits {key}, which tfgen does not count"


def _owners(cluster: Cluster) -> Mapping[DeviceId, Sequence[PodId | None]]:
    """Return the users of each allocated device: pods, and None for a user of another kind.

    The scheduler gives an allocated device to no other claim, even if no pod uses the device. Kubernetes frees the
    devices of a claim whose pods are all gone. A waiting pod requests its devices in the plan.
    """
    owners: dict[DeviceId, list[PodId | None]] = defaultdict(list)
    without_devices = cluster.gone.union((namespace_of(pod), pod["metadata"]["name"]) for pod in cluster.waiting)
    for claim in cluster.objects.get("ResourceClaim", EMPTY).values():
        users, devices = read(_allocation, claim)
        present = [user for user in users if user not in without_devices]
        for device in devices if present or not users else ():
            owners[device] += present
    return owners


def _allocation(claim: Object) -> tuple[list[PodId | None], list[DeviceId]]:
    """Return the users of a ResourceClaim, and its devices without the devices for an administrator's access."""
    status = claim.get("status") or {}
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    users = status.get("reservedFor") or ()
    pods = [(namespace_of(claim), user["name"]) if user["resource"] == "pods" else None for user in users]
    return pods, [(item["driver"], item["pool"], item["device"]) for item in results if not item.get("adminAccess")]


def _devices(cluster: Cluster) -> Iterator[Device]:
    """Yield the devices in the newest ResourceSlices of each pool."""
    pools: dict[tuple[str, str], list[_Slice]] = defaultdict(list)
    for item in cluster.of_kind("ResourceSlice"):
        part = read(_slice, item)
        pools[part.driver, part.pool].append(part)
    for (driver, pool), parts in pools.items():
        newest = max(part.generation for part in parts)
        parts = [part for part in parts if part.generation == newest]
        is_whole = all(part.slices == len(parts) for part in parts)
        flaw = "" if is_whole else f"the pool {pool} of the driver {driver} does not have all its ResourceSlices"
        for device in (device for part in parts for device in part.devices):
            yield device if device.flaw else device.replaced(flaw=flaw)


class _Slice(Record):
    """A ResourceSlice, which has all devices or a part of the devices of a pool.

    Attributes:
        slices: the number of ResourceSlices of the pool in this generation.
    """

    driver: str
    pool: str
    generation: int
    slices: int
    devices: tuple[Device, ...]


def _slice(item: Object) -> _Slice:
    spec = item["spec"]
    driver, pool, title = spec["driver"], spec["pool"], item["metadata"]["name"]
    devices = []
    for device in spec.get("devices") or ():
        unread = [key for key in spec if key not in ("devices", "driver", "nodeName", "pool")]
        unread += [key for key in device if key not in ("attributes", "capacity", "name")]
        flaw = f"tfgen cannot evaluate the field {unread[0]} of the ResourceSlice {title}" if unread else ""
        attributes: dict[tuple[str, str], Mapping[str, Any]] = {}
        for key, value in (device.get("attributes") or {}).items():
            domain, _, name = key.rpartition("/")
            attributes[domain or driver, name] = value
        devices.append(Device((driver, pool["name"], device["name"]), spec.get("nodeName") or "", attributes, flaw))
    return _Slice(driver, pool["name"], int(pool["generation"]), int(pool["resourceSliceCount"]), tuple(devices))


_TEXT: Final = r"""(?:"[^"\\]*"|'[^'\\]*')"""
_CLAUSE: Final = re.compile(
    rf"\s*device\.(?:driver|attributes\[(?P<domain>{_TEXT})\]\.(?P<name>\w+))"
    rf"\s*(?P<operator>==|!=)\s*(?P<value>{_TEXT}|true|false|-?\d+)\s*(?:&&|$)"
)
"""A comparison in a CEL expression. Example: `device.attributes["gpu.nvidia.com"].type == "gpu"`."""


def _meets(device: Device, expression: str) -> bool:
    """Test whether a device meets a CEL expression, which is a comparison, or comparisons with `&&` between them.

    Raises:
        _UnknownError: the expression has another form, or compares values of different types.
    """
    at = 0
    while at < len(expression):
        clause = _CLAUSE.match(expression, at)
        value = _attribute(device, clause) if clause else None
        expected = _literal(clause["value"]) if clause else None
        if clause is None or type(value) is not type(expected):
            raise _UnknownError(f"tfgen cannot evaluate the selector {expression}")
        if (value == expected) != (clause["operator"] == "=="):
            return False
        at = clause.end()
    return True


def _attribute(device: Device, clause: re.Match[str]) -> Any:
    """Return the value on the left side of a comparison; None for a version or a missing attribute."""
    if clause["name"] is None:
        return device.id[0]
    value = device.attributes.get((clause["domain"][1:-1], clause["name"]), EMPTY)
    return next((value[key] for key in ("string", "bool", "int") if key in value), None)


def _literal(text: str) -> str | bool | int:
    if text in ("true", "false"):
        return text == "true"
    return text[1:-1] if text[0] in "\"'" else int(text)

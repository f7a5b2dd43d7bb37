"""The pods that the objects of a job create: their commands, volumes and requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from tfgen import data_path
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object, group, literal_name
from tfgen.record import EMPTY, Record

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount


# -- references in a command -------------------------------------------------------------------------------------------
#
# https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/


REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
"""Pattern of a reference `$(X)`, or of `$$`, the escape of a dollar sign."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand the references to variables in a text. References to unset variables remain unchanged.

    >>> expand("$(HOST):$(PORT) $$(HOST) $HOST", {"HOST": "a"})
    'a:$(PORT) $(HOST) $HOST'
    """
    return REFERENCE.sub(lambda match: "$" if match[0] == "$$" else variables.get(match[1], match[0]), text)


# -- the program of a command ------------------------------------------------------------------------------------------


_INTERPRETER: Final = ("python", "bash", "sh")
_NO_FILE: Final = ("-c", "-m")
"""Options with which an interpreter runs code or a module instead of a file."""
_WITH_VALUE: Final = ("-W", "-X")


def find_program_file(words: Sequence[str]) -> str:
    """Return the file that an interpreter runs, or the path of an executable; empty if the command contains neither.

    >>> find_program_file(["python", "-u", "/opt/train.py", "--steps=5"]), find_program_file(["python", "-m", "train"])
    ('/opt/train.py', '')
    """
    first, *following = words
    if not PurePosixPath(first).name.startswith(_INTERPRETER):
        return first if "/" in first else ""
    texts = iter(following)
    for text in texts:
        if text in _NO_FILE:
            return ""
        if text in _WITH_VALUE:
            next(texts, None)
        elif not text.startswith("-"):
            return text
    return ""


# -- volumes of the Pod Security Standards -----------------------------------------------------------------------------
#
# The volume types that the Pod Security Standards refuse.
#
# https://kubernetes.io/docs/concepts/security/pod-security-standards/: the profile baseline refuses hostPath only. The
# page does not list image volumes, which the profile restricted allows since Kubernetes 1.33
# (policy/check_restrictedVolumes.go of k8s.io/pod-security-admission).


Profile: TypeAlias = Literal["restricted", "baseline", "privileged"]
PROFILES: Final[tuple[Profile, ...]] = get_args(Profile)
"""The Pod Security Standards, the strictest first."""

_OF_RESTRICTED: Final = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"),
    *("image", "persistentVolumeClaim", "projected", "secret"),
)


def refuses(profile: Profile, source: str) -> bool:
    """Return whether a profile refuses a type of volume, such as `hostPath`."""
    return PROFILES.index(strictest_profile(source)) > PROFILES.index(profile)


def strictest_profile(source: str) -> Profile:
    """Return the strictest profile that allows a type of volume, for example `privileged` for `hostPath`."""
    if source in _OF_RESTRICTED:
        return "restricted"
    return "privileged" if source == "hostPath" else "baseline"


# -- pods of objects ---------------------------------------------------------------------------------------------------


FieldPath: TypeAlias = tuple[str | int, ...]
"""The path of a field in an object: the keys of mappings and the indexes of lists."""

_KUBERNETES_GROUPS: Final = ("apps", "batch", "")

_COUNTS: Final = ("replicas", "maxReplicas", "maxReplicaCount", "parallelism", "instances")
"""Fields of Kubernetes kinds and of custom kinds that set the number of the pods, or of the objects, in the field."""


class Pods(Record):
    """A group of equal pods, which one pod template describes.

    Attributes:
        owner: the object that creates the pods.
        path: the path of the PodSpec in the object.
        count: the number of pods.
    """

    owner: Mapping[str, Any]
    path: FieldPath
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    count: int

    @cached_property
    def containers(self) -> tuple[tuple[FieldPath, Mapping[str, Any]], ...]:
        """Each container, with its path in the owner. The result includes init containers and sidecars."""
        return tuple(
            ((*self.path, field, index), container)
            for field in ("initContainers", "containers")
            for index, container in enumerate(self.spec.get(field, ()))
        )

    @cached_property
    def ports(self) -> tuple[Mapping[str, Any], ...]:
        """The ports of all containers."""
        return tuple(port for _, container in self.containers for port in container.get("ports", ()))

    @property
    def has_all_labels(self) -> bool:
        """True if `labels` contains all labels of the pods that a selector of the job may use.

        The result is False for a custom kind such as TFJob, because the operator may add labels.
        """
        return group(self.owner) in _KUBERNETES_GROUPS


def pods_of(item: Mapping[str, Any]) -> Iterator[Pods]:
    """Yield the pods of an object that tfgen generates. For an entry of `objects`, yield nothing."""
    if literal_name(item) is not None:
        return
    if item["kind"] == "Pod":
        yield _pods(item, (), item, 1)
    else:
        yield from _templates(item, (), item)


def literal_pods(item: Mapping[str, Any]) -> Iterator[Pods]:
    """Yield the pods of an entry of `objects`. Pods whose fields have wrong types are left out."""
    if literal_name(item) is None:
        return
    if item["kind"] == "Pod":
        if _has_shape(item):
            yield _pods(item, (), item, 1)
    else:
        yield from _literal_templates(item, (), item)


def _literal_templates(owner: Mapping[str, Any], path: FieldPath, value: Any, count: int = 1) -> Iterator[Pods]:
    """Yield the pods of each pod template in `value`. The product of all numbers on the path is the number of pods."""
    if isinstance(value, Mapping):
        counts = [value[key] for key in _COUNTS if type(value.get(key)) is int]
        count *= max(counts, default=1)
        if path and _has_shape(value):
            yield _pods(owner, path, value, count)
            return
    for key, child in value.items() if isinstance(value, Mapping) else enumerate(value):
        if isinstance(child, Mapping | list | tuple):
            yield from _literal_templates(owner, (*path, key), child, count)


def _has_shape(template: Any) -> bool:
    """Return True if a pod template has the types that Kubernetes requires."""
    spec = data_path.at(template, ("spec",))
    if not isinstance(spec, Mapping) or "containers" not in spec:
        return False
    parts = [data_path.at(template, ("metadata", key)) for key in ("labels", "annotations")]
    lists = [spec.get(key) or () for key in ("containers", "initContainers", "volumes")]
    if not all(isinstance(part, Mapping | None) for part in parts) or not all(
        isinstance(items, list | tuple) for items in lists
    ):
        return False
    if not all(isinstance(item, Mapping) for items in lists for item in items):
        return False
    containers = [container for containers in lists[:2] for container in containers]
    resources = [spec.get("resources"), *(container.get("resources") for container in containers)]
    amounts = [spec.get("overhead"), *(data_path.at(block, (key,)) for block in resources for key in _AMOUNTS)]
    return all(isinstance(block, Mapping | None) for block in (*resources, *amounts)) and all(
        quantity.is_quantity(amount) for block in amounts for amount in (block or {}).values()
    )


_AMOUNTS: Final = ("limits", "requests")


def _templates(owner: Mapping[str, Any], path: FieldPath, value: Any) -> Iterator[Pods]:
    if isinstance(value, list):
        for index, child in enumerate(value):
            if isinstance(child, (dict, list)):
                yield from _templates(owner, (*path, index), child)
    elif isinstance(value, dict):
        for key, child in value.items():
            if not isinstance(child, (dict, list)):
                continue
            child_path = (*path, key)
            if key == "template" and isinstance(child, dict) and "containers" in child.get("spec", {}):
                count: Any = value.get("replicas", value.get("parallelism", 1))
                yield _pods(owner, child_path, child, count)
            else:
                yield from _templates(owner, child_path, child)


def _pods(owner: Mapping[str, Any], path: FieldPath, template: Mapping[str, Any], count: int) -> Pods:
    metadata = template.get("metadata") or {}
    return Pods(
        owner=owner,
        path=(*path, "spec"),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        spec=template["spec"],
        count=count,
    )


# -- pod requests ------------------------------------------------------------------------------------------------------
#
# The resource requests of a pod, as the scheduler counts them.
#
# PodRequests of https://github.com/kubernetes/component-helpers/blob/v0.36.3/resource/helpers.go


_OF_A_POD: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"


def pod_requests(spec: Mapping[str, Any], status: Mapping[str, Any] = EMPTY) -> dict[str, Amount]:
    """Return the requests of a pod, including the overhead of the pod, by resource.

    Example: {"cpu": 2, "memory": 4294967296, "nvidia.com/gpu": 1}. CPU is in cores, and memory is in bytes.

    The containers of a pod run in phases. In one phase for each init container, the init container runs together with
    the sidecars that are earlier in the list. In the last phase, all main containers run together with all sidecars.
    The request of a resource is the largest sum of a phase. Requests at the pod level replace this sum.

    During a resize of a running pod, the scheduler uses the larger of the old and the new request. If the kubelet has
    refused the new request, the scheduler uses the old request.

    Args:
        spec: the PodSpec.
        status: the PodStatus of a running pod.
    """
    # The kubelet has refused a resize permanently, because the node is too small for the requests.
    is_infeasible = any(
        item.get("type") == "PodResizePending" and item.get("reason") == "Infeasible"
        for item in status.get("conditions") or ()
    )
    states = {
        state["name"]: state
        for part in ("containerStatuses", "initContainerStatuses")
        for state in status.get(part) or ()
        if state.get("resources") is not None
    }

    def effective_requests(container: Mapping[str, Any]) -> dict[str, Amount]:
        state = states.get(container.get("name", ""))
        requests = _requests(container)
        return _resized(requests, state, state.get("allocatedResources"), is_infeasible) if state else requests

    running: dict[str, Amount] = {}
    sidecars: dict[str, Amount] = {}
    most: dict[str, Amount] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            requests = effective_requests(container)
            sidecars = _sum(sidecars, requests)
            running = _sum(running, requests)
            most = _most(most, sidecars)
        else:
            most = _most(most, _sum(_requests(container), sidecars))
    for container in spec.get("containers") or ():
        running = _sum(running, effective_requests(container))
    of_containers = _most(most, running)
    of_pod = _pod_level_requests(spec, of_containers)
    if of_pod and status.get("resources") is not None:
        resized = _resized(of_pod, status, status.get("allocatedResources"), is_infeasible)
        of_pod = {resource: resized.get(resource, value) for resource, value in of_pod.items()}
    return _sum({**of_containers, **of_pod}, _amounts(spec.get("overhead")))


def _resized(
    requested: Mapping[str, Amount], state: Mapping[str, Any], allocated: Mapping[str, Any] | None, is_infeasible: bool
) -> dict[str, Amount]:
    """Return the requests that the scheduler uses during a resize (determineEffectiveRequests in Kubernetes).

    Args:
        requested: the requests of the spec.
        state: the status of the container or the pod, with the current `resources`.
        allocated: the requests that the kubelet has admitted.
        is_infeasible: whether the kubelet has refused the requests of the spec.
    """
    current = _most(_amounts(state["resources"].get("requests")), _amounts(allocated))
    return current if is_infeasible else _most(requested, current)


def _pod_level_requests(spec: Mapping[str, Any], of_containers: Mapping[str, Amount]) -> dict[str, Amount]:
    """Return the requests that the spec of a pod sets for the whole pod.

    A limit of the pod is the request if neither the pod nor a container sets a request.

    https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#pod-level-resource-specification.
    """
    resources = spec.get("resources") or {}
    limits = {key: value for key, value in _amounts(resources.get("limits")).items() if key not in of_containers}
    amounts = {**limits, **_amounts(resources.get("requests"))}
    return {key: value for key, value in amounts.items() if key in _OF_A_POD or key.startswith(_HUGE_PAGES)}


def _requests(container: Mapping[str, Any]) -> dict[str, Amount]:
    """Return the requests of a container. If a resource has only a limit, the limit is the request."""
    resources = container.get("resources") or {}
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(quantities: Mapping[str, Any] | None) -> dict[str, Amount]:
    return {resource: quantity.parse(value) for resource, value in (quantities or {}).items()}


def _sum(amounts: Mapping[str, Amount], added: Mapping[str, Amount]) -> dict[str, Amount]:
    return {**amounts, **{resource: amounts.get(resource, 0) + value for resource, value in added.items()}}


def _most(amounts: Mapping[str, Amount], added: Mapping[str, Amount]) -> dict[str, Amount]:
    return {**amounts, **{resource: max(amounts.get(resource, value), value) for resource, value in added.items()}}


def gpu_product(spec: Mapping[str, Any]) -> str:
    """Return the GPU product that the node selector of a pod names; empty if the selector names no product."""
    selector = spec.get("nodeSelector") or {}
    return next((str(value) for label, value in selector.items() if label.endswith("gpu.product")), "")


# -- device claims -----------------------------------------------------------------------------------------------------
#
# The devices that a pod claims with dynamic resource allocation. No resource request of a pod counts these devices.


_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
"""The beginning of the resource name that Kubernetes derives from the name of a DeviceClass."""


def device_templates(objects: Iterable[Object]) -> dict[str, dict[str, Amount]]:
    """Return the numbers of devices in each ResourceClaimTemplate that tfgen generates, by the name of the template.

    Example: {"mnist-worker": {"deviceclass.resource.kubernetes.io/gpu.nvidia.com": 2}}.
    """
    return {
        item["metadata"]["name"]: {
            _DEVICE_CLASS + exactly["deviceClassName"]: exactly["count"]
            for request in item["spec"]["spec"]["devices"]["requests"]
            if (exactly := request.get("exactly"))
        }
        for item in objects
        if item["kind"] == "ResourceClaimTemplate" and literal_name(item) is None
    }


def claimed_devices(spec: Mapping[str, Any], templates: Mapping[str, Mapping[str, Amount]]) -> dict[str, Amount]:
    """Return the number of devices that a pod claims, by resource. `templates` is the result of `device_templates`."""
    devices: dict[str, Amount] = {}
    for claim in spec.get("resourceClaims") or ():
        devices = _sum(devices, templates.get(claim.get("resourceClaimTemplateName"), EMPTY))
    return devices


def counts_gpus(resource: str) -> bool:
    """Return whether a resource name counts whole GPUs, such as `nvidia.com/gpu`, or the devices of a device class."""
    return resource.endswith("/gpu") or resource.startswith(_DEVICE_CLASS)


def device_name(resource: str) -> str:
    """Return the name of a resource for a message: the device class for devices of a class."""
    return resource.removeprefix(_DEVICE_CLASS)


# -- totals ------------------------------------------------------------------------------------------------------------
#
# Totals of the objects of an environment: the number of pods, and the requests of each resource.


_BINARY: Final = ("memory", "ephemeral-storage")
_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Totals(Record):
    """The number of pods, and the sums of their requests: CPU in cores, memory in bytes, and numbers of devices."""

    pods: int
    requests: Mapping[str, Amount]


def totals(objects: Iterable[Mapping[str, Any]]) -> Totals:
    """Return the sums over all pods of objects, including pods that do not run at the same time."""
    items = [*objects]
    all_pods, templates = [pods for item in items for pods in pods_of(item)], device_templates(items)
    requests: dict[str, Amount] = {}
    for pods in all_pods:
        for amounts in (pod_requests(pods.spec), claimed_devices(pods.spec, templates)):
            for resource, value in amounts.items():
                requests[resource] = requests.get(resource, 0) + pods.count * value
    return Totals(sum(pods.count for pods in all_pods), requests)


def amount(resource: str, value: Amount) -> str:
    """Return the text of an amount for messages. Memory is in the largest unit in which the amount is at least 1."""
    if resource not in _BINARY:
        return f"{float(value):g}"
    unit = 0
    while value >= 1024 ** (unit + 1) and unit + 1 < len(_UNITS):
        unit += 1
    return f"{round(float(value / 1024**unit), 2):g}{_UNITS[unit]}"


# -- queue -------------------------------------------------------------------------------------------------------------
#
# The queue of Kueue or Volcano in which the objects of a job wait.


def queue_name(objects: Iterable[Object]) -> str:
    """Return the queue of the first object that names a queue; empty if no object names a queue."""
    for item in objects:
        labels = item["metadata"].get("labels") or {}
        queue = labels.get(keys.QUEUE) or (item.get("spec") or {}).get("queue")
        if isinstance(queue, str) and queue:
            return queue
    return ""

"""Limits of a tfgen.yaml on the resources of a job, of an environment and of a namespace.

    tfgen.yaml      limits: {job: {gpus: 16}, environments: {prod: {gpus: 64}}, namespaces: {ml-ads: {gpus: 24}}}

For each environment of a job, tfgen adds up the tasks, the requests of the pods, and the sizes of the claims, including
the pods and claims under `objects`. A limit under `environments` applies to the sum of all jobs in the environment. A
limit under `namespaces` applies to the sum of all jobs in the namespace of one cluster. A sum includes only jobs whose
files are under the folder of the tfgen.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Place, Problem
from tfgen.graph.graph import BuiltJob
from tfgen.graph.podspec import IS_GPU
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object, literal_name
from tfgen.kubernetes.pods import Pods, amount, literal_pods, pod_requests, pods_of
from tfgen.rails.enforce import blocks
from tfgen.rails.rail import LooserSetting, Rail, all_layers
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.words import in_environments, path_name, shown

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

    Amounts = Mapping[str, Amount]

OVER_LIMIT: Final = "over-limit"

RULES: Final[Mapping[str, str]] = {OVER_LIMIT: "The jobs of a folder request more than a tfgen.yaml allows."}
"""The summary of the rule, which begins the section of the rule in docs/rules.md."""

_WORDS: Final[Mapping[str, str]] = {
    "gpus": "GPUs",
    "cpu": "CPUs",
    "memory": "of memory",
    "replicas": "tasks",
    "storage": "of storage",
}
"""The keys of `limits`, each with its noun in messages, such as "GPUs"."""

_WHOLE_GPU: Final = re.compile(r".*/gpu(\.shared)?|nvidia\.com/mig-.+|gpu\.intel\.com/.+|volcano\.sh/vgpu-number")
"""Pattern of the GPU resources that tfgen adds up. A pod with only other GPU resources counts as one GPU."""

_NO_ACCELERATOR: Final = re.compile(r"(^|\.)kubernetes\.io/|rdma|sriov|hca|/(efa|fuse|kvm|tun|vhost-net|.*nic)$")
"""Pattern of the resources that are no accelerators: networks and files of a node. Each other extended resource, such
as example.com/accel, counts as GPUs."""

_VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"

_SUMS: Final = ("environments", "namespaces")
_MAX_NAMES: Final = 3
"""Maximum number of jobs that the message about a sum lists."""


class JobUse(Record):
    """Resources that a job requests in one environment.

    Attributes:
        environment: the name of the environment; None for a job without environments.
        total: the amount of each resource for the complete job.
        by_part: the amounts that each part of the job requests, by the path of the part in the spec. Example:
            {("roles", "worker"): {"gpus": 4, "cpu": 16, "memory": 68719476736, "replicas": 4, "storage": 0}}. The path
            is empty for generated pods that belong to no role.
        uncounted: the uses of GPUs that no request counts, each with the path of the part in the spec and the reason.
    """

    job: str
    environment: str | None
    namespace: str | None
    cluster: str | None
    total: Amounts
    by_part: Mapping[Path, Amounts]
    uncounted: tuple[tuple[Path, str], ...] = ()


def uses(built: BuiltJob) -> tuple[JobUse, ...]:
    """Return the resources of a job in each built environment, or of the job itself if the job has no environments."""
    job = built.job
    if not job.environments:
        return (_use(job.name, (None, job.namespace, None), built.base.values()),)
    return tuple(
        _use(job.name, (item.name, item.namespace, item.cluster), built.environments[item.name].values())
        for item in job.environments
        if item.name in built.environments
    )


def find_over_limits(document: Document, built: BuiltJob) -> Iterator[Problem]:
    """Yield a problem for each resource limit that a job exceeds, and for each use of GPUs that tfgen cannot count.

    If several tfgen.yaml files limit a resource, the lowest limit applies.
    """
    limits = LIMITS.settings(document.under)
    limit_of_gpus = next((limit for path, limit in limits.items() if path[-1] == "gpus"), None)
    of_job = {path[-1]: limit for path, limit in limits.items() if path[1] == "job"}
    environments: dict[tuple[Place, str], list[str | None]] = {}
    for use in uses(built) if of_job or limit_of_gpus else ():
        found: list[tuple[Path, str]] = []
        for resource, value in use.total.items():
            limit = of_job.get(resource)
            if limit is not None and value > quantity.parse(limit.value):
                message = (
                    f"the job requests {_counted(resource, value)}, but {limit.place} allows a job at most "
                    f"{_shown(resource, quantity.parse(limit.value))}"
                )
                found.append((_origin(document, use, resource), message))
        for words, part in {words: part for part, words in reversed(use.uncounted)}.items():
            if limit_of_gpus is not None:
                found.append((_written(document, use, part), f"{words}, but {limit_of_gpus.place} limits the GPUs"))
        for path, message in found:
            # A problem at a line of an environment needs no name of the environment in the message.
            environment = None if path[:2] == ("spec", "environments") else use.environment
            environments.setdefault((document.place(path), message), []).append(environment)
    for (place, message), names in environments.items():
        yield Problem(*place, message + in_environments(names), OVER_LIMIT)


def find_sums_over_limits(layer: Document, job_uses: Sequence[JobUse]) -> Iterator[Problem]:
    """Yield a problem for each limit that all jobs of an environment, or of a namespace, exceed together.

    Args:
        layer: the tfgen.yaml, without the values of parent folders.
        job_uses: the resources of all jobs under the folder of the tfgen.yaml.
    """
    for name in _named(layer, "environments"):
        counted = [use for use in job_uses if use.environment == name]
        yield from _over_sum(layer, ("environments", name), f"in the environment {name}", counted)
    for name in _named(layer, "namespaces"):
        in_namespace = [use for use in job_uses if use.namespace == name]
        for cluster in dict.fromkeys(use.cluster for use in in_namespace):
            where = f"in the namespace {name}" + (f" of the cluster {cluster}" if cluster else "")
            counted = [use for use in in_namespace if use.cluster == cluster]
            yield from _over_sum(layer, ("namespaces", name), where, counted)


def has_limited_sums(document: Document) -> bool:
    """Return True if any tfgen.yaml that applies to a job limits the sum of several jobs."""
    return any(map(limits_sums, all_layers(document.under)))


def limits_sums(layer: Document) -> bool:
    """Return True if a tfgen.yaml limits the sum of several jobs."""
    return any(_named(layer, kind) for kind in _SUMS)


# -- resources of objects ------------------------------------------------------------------------------------------


def _use(job: str, where: tuple[str | None, str | None, str | None], items: Iterable[Object]) -> JobUse:
    items = [*items]
    most_replicas, devices = dict(_scaled(items)), dict(_claimed_devices(items))
    by_part: dict[Path, dict[str, Amount]] = {}
    uncounted: dict[tuple[Path, str], None] = {}
    for item in items:
        name = literal_name(item)
        for pods in pods_of(item) if name is None else literal_pods(item):
            role = pods.labels.get(keys.ROLE) if name is None else None
            part: Path = ("objects", name) if name is not None else ("roles", role) if role else ()
            count = max(pods.count, most_replicas.get((item["kind"], item["metadata"]["name"]), 0))
            _add(by_part, part, {**_amounts(pods, count, devices), "replicas": count if role else 0})
            uncounted |= {(part, words): None for words in _uncounted(pods, devices)}
        storage: Path = ("objects", name) if name is not None else ("storage",)
        if name is not None or item["kind"] == "PersistentVolumeClaim":
            _add(by_part, storage, {"storage": sum(_claims(item), 0)})
    total = {resource: sum((amounts[resource] for amounts in by_part.values()), 0) for resource in _WORDS}
    return JobUse(job, *where, total, by_part, tuple(uncounted))


def _add(by_part: dict[Path, dict[str, Amount]], part: Path, amounts: Amounts) -> None:
    sums = by_part.setdefault(part, dict.fromkeys(_WORDS, 0))
    for resource, value in amounts.items():
        sums[resource] += value


def _scaled(items: Iterable[Object]) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield the kind and the name of each object that an autoscaler in `objects` scales, with the largest size.

    The defaults of a KEDA ScaledObject are the kind Deployment and 100 replicas.
    """
    for item in items:
        target = data_path.at(item, ("spec", "scaleTargetRef")) if literal_name(item) is not None else None
        if isinstance(target, Mapping):
            most = item["spec"].get("maxReplicas", item["spec"].get("maxReplicaCount", 100))
            yield (str(target.get("kind", "Deployment")), str(target.get("name"))), most if type(most) is int else 100


def _claimed_devices(items: Iterable[Object]) -> Iterator[tuple[str, int | None]]:
    """Yield the name of each ResourceClaim and ResourceClaimTemplate, with the number of its devices.

    The number is None if the claim takes all devices of a node.
    """
    for item in items:
        if item["kind"] in ("ResourceClaim", "ResourceClaimTemplate"):
            specs = [data_path.at(item, path) for path in (("spec", "devices"), ("spec", "spec", "devices"))]
            requests = [request for spec in specs if isinstance(spec, Mapping) for request in _maps(spec, "requests")]
            exact = [part for request in requests for part in (request, request.get("exactly")) if part]
            exact += [part for request in requests for part in _maps(request, "firstAvailable")]
            counts = [part.get("count", 1 if "deviceClassName" in part else 0) for part in exact]
            takes_all = any(part.get("allocationMode") == "All" for part in exact)
            yield item["metadata"]["name"], None if takes_all else sum(n for n in counts if type(n) is int)


def _maps(data: Any, key: str) -> list[Mapping[str, Any]]:
    value = data.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def _claims(item: Object) -> Iterator[Amount]:
    """Yield the size of a claim, or the sizes of the claims that a StatefulSet creates for all its pods."""
    spec = data_path.at(item, ("spec",))
    if item["kind"] == "PersistentVolumeClaim":
        yield _size(spec)
    elif item["kind"] == "StatefulSet":
        replicas = data_path.at(spec, ("replicas",))
        templates = data_path.at(spec, ("volumeClaimTemplates",))
        for claim in templates if isinstance(templates, list) else ():
            size = _size(data_path.at(claim, ("spec",)))
            yield size * (replicas if type(replicas) is int else 1)


def _size(claim: Any) -> Amount:
    size = data_path.at(claim, ("resources", "requests", "storage"))
    return quantity.parse(size) if quantity.is_quantity(size) else 0


def _amounts(pods: Pods, count: int, devices: Mapping[str, int | None]) -> dict[str, Amount]:
    """Return the resources of `count` equal pods. `devices` are the numbers of devices of claims, by name."""
    requests = pod_requests(pods.spec)
    gpus = {name: value for name, value in requests.items() if value and _is_device(name)}
    whole = sum((value for name, value in gpus.items() if not re.search(IS_GPU, name) or _WHOLE_GPU.fullmatch(name)), 0)
    whole += sum(devices.get(name, 1) or 1 for name in _device_claims(pods))
    claim: Path = ("ephemeral", "volumeClaimTemplate", "spec")
    pod_amounts = {
        "gpus": whole or int(bool(gpus)),
        "cpu": requests.get("cpu", 0),
        "memory": requests.get("memory", 0),
        "storage": sum((_size(data_path.at(volume, claim)) for volume in pods.spec.get("volumes") or ()), 0),
    }
    return {resource: value * count for resource, value in pod_amounts.items()}


def _is_device(resource: str) -> bool:
    return bool(re.search(IS_GPU, resource)) or ("/" in resource and not _NO_ACCELERATOR.search(resource))


def _device_claims(pods: Pods) -> Iterator[str]:
    """Yield the name of the ResourceClaim or ResourceClaimTemplate of each entry of `resourceClaims` in a pod."""
    for claim in _maps(pods.spec, "resourceClaims"):
        yield str(claim.get("resourceClaimTemplateName") or claim.get("resourceClaimName"))


def _uncounted(pods: Pods, devices: Mapping[str, int | None]) -> Iterator[str]:
    """Yield a reason, as words for a message, for each use of GPUs by a pod that no request counts."""
    for name in _device_claims(pods):
        if name in devices and devices[name] is None:
            yield f"the claim {name} takes all devices of a node, which tfgen cannot count"
    for _, container in pods.containers:
        resources = container.get("resources") or {}
        requested = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for entry in _maps(container, "env"):
            is_open = entry.get("name") == _VISIBLE_DEVICES and entry.get("value", "all") not in ("", "none", "void")
            if is_open and not resources.get("claims") and not any(map(_is_device, requested)):
                yield f"{_VISIBLE_DEVICES} gives the container {container.get('name')} GPUs that no request counts"


def _origin(document: Document, use: JobUse, resource: str) -> Path:
    """Return the path of the part of the job, such as a role, that requests the most of a resource."""
    return _written(document, use, max(use.by_part, key=lambda path: use.by_part[path][resource]))


def _written(document: Document, use: JobUse, part: Path) -> Path:
    """Return the path in the job file that sets the size of a part of the job, such as a role."""
    endings: list[Path] = [(*part, "replicas"), (*part, "resources"), part] if part[:1] == ("roles",) else [part]
    paths = [(*block, *end) for block in blocks(use.environment) for end in endings] if part else []
    return next((path for path in paths if data_path.has(document.data, path)), ("metadata", "name"))


# -- limits of a tfgen.yaml ----------------------------------------------------------------------------------------


def _read(layer: Document) -> Iterator[tuple[Path, Any]]:
    limits: Mapping[str, Any] = layer.data.get("limits", {})
    yield from ((("limits", "job", resource), value) for resource, value in (limits.get("job") or {}).items())
    for kind in _SUMS:
        for name in _named(layer, kind):
            yield from ((("limits", kind, name, resource), value) for resource, value in limits[kind][name].items())


def _words(comparison: LooserSetting) -> str:
    new = "no limit" if comparison.new is None else shown(comparison.new)
    allows = "allows" if comparison.is_change else "allows at most"
    message = f"{path_name(comparison.path)}: found {new}, but {comparison.base} {allows} {shown(comparison.old)}"
    return message if comparison.is_change else f"{message}; lower the limit"


LIMITS: Final = Rail(
    read=_read,
    looser=lambda old, new: [()] if new is None or quantity.parse(new) > quantity.parse(old) else [],
    words=_words,
)


def _named(layer: Document, kind: str) -> Sequence[str]:
    return tuple(data_path.at(layer.data, ("limits", kind)) or ())


def _over_sum(layer: Document, path: Path, where: str, job_uses: Sequence[JobUse]) -> Iterator[Problem]:
    for resource, written in data_path.at(layer.data, ("limits", *path)).items():
        total, limit = sum((use.total[resource] for use in job_uses), 0), quantity.parse(written)
        if total <= limit:
            continue
        by_job: dict[str, Amount] = {}
        for use in job_uses:
            by_job[use.job] = by_job.get(use.job, 0) + use.total[resource]
        largest = sorted(by_job, key=lambda job: (-by_job[job], job))
        names = ", ".join(f"{job} {_shown(resource, by_job[job])}" for job in largest[:_MAX_NAMES])
        remaining = f" and {len(largest) - _MAX_NAMES} more" if len(largest) > _MAX_NAMES else ""
        message = (
            f"the jobs {where} request {_counted(resource, total)}, but the limit is {_shown(resource, limit)}: "
            f"{names}{remaining}"
        )
        yield Problem(*layer.place(("limits", *path, resource)), message, OVER_LIMIT)


def _counted(resource: str, value: Amount) -> str:
    return f"{_shown(resource, value)} {_WORDS[resource]}"


def _shown(resource: str, value: Amount) -> str:
    return amount("memory" if resource == "storage" else resource, value)

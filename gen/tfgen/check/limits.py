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
from tfgen.check.pods import Pods, literal_pods, pods_of
from tfgen.check.severities import GUARD_RAIL
from tfgen.check.totals import amount
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob
from tfgen.graph.objects.resources import IS_GPU
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object, literal_name
from tfgen.kubernetes.pod_requests import pod_requests
from tfgen.problems import Place, Problem
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
"""Pattern of the resources that tfgen adds up as GPUs. A pod with only other GPU resources counts as one GPU."""

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
    """

    job: str
    environment: str | None
    namespace: str | None
    cluster: str | None
    total: Amounts
    by_part: Mapping[Path, Amounts]


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
    """Yield a problem for each resource limit that a job exceeds.

    If several tfgen.yaml files limit a resource, the limit of the nearest file applies.
    """
    if not any(_named(layer, "job") for layer in _layers(document)):
        return
    environments: dict[tuple[Place, str], list[str | None]] = {}
    for use in uses(built):
        for resource, value in use.total.items():
            layer = next((layer for layer in _layers(document) if _has(layer, ("job", resource))), None)
            if layer is None or value <= limit_value(layer, ("job", resource)):
                continue
            path = _origin(document, use, resource)
            message = (
                f"the job requests {_counted(resource, value)}, but {layer.place(('limits', 'job', resource))} allows "
                f"a job at most {_shown(resource, limit_value(layer, ('job', resource)))}"
            )
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
    return any(map(limits_sums, _layers(document)))


def limits_sums(layer: Document) -> bool:
    """Return True if a tfgen.yaml limits the sum of several jobs."""
    return any(_named(layer, kind) for kind in _SUMS)


def check_limits(defaults: Document) -> Iterator[Problem]:
    """Yield a problem for each limit of a tfgen.yaml that is higher than the same limit of a parent folder."""
    layer = defaults.alone()
    if defaults.under is None:
        return
    for path in limit_paths(layer):
        parent = next((candidate for candidate in defaults.under.layers() if _has(candidate, path)), None)
        if parent and limit_value(layer, path) > limit_value(parent, path):
            message = (
                f"{path_name(('limits', *path))}: found {shown(written_limit(layer, path))}, but "
                f"{parent.place(('limits', *path))} allows at most {shown(written_limit(parent, path))}; lower the "
                "limit"
            )
            yield Problem(*layer.place(("limits", *path)), message, GUARD_RAIL)


# -- resources of objects ------------------------------------------------------------------------------------------


def _use(job: str, where: tuple[str | None, str | None, str | None], items: Iterable[Object]) -> JobUse:
    by_part: dict[Path, dict[str, Amount]] = {}
    for item in items:
        for part, amounts in _parts(item):
            sums = by_part.setdefault(part, dict.fromkeys(_WORDS, 0))
            for resource, value in amounts.items():
                sums[resource] += value
    total = {resource: sum((amounts[resource] for amounts in by_part.values()), 0) for resource in _WORDS}
    return JobUse(job, *where, total, by_part)


def _parts(item: Object) -> Iterator[tuple[Path, Amounts]]:
    """Yield the amounts that an object requests, for each group of equal pods and for the claims.

    Example for a claim: (("storage",), {"storage": 1073741824}). The path leads to the part of the job below `spec`
    that requests the amounts, such as ("roles", "worker") for pods. The path is empty for generated pods that belong to
    no role. A value of a wrong type counts as 0.
    """
    name = literal_name(item)
    if name is not None:
        for pods in literal_pods(item):
            yield ("objects", name), _amounts(pods, is_task=False)
        yield ("objects", name), {"storage": sum(_literal_claims(item), 0)}
        return
    if item["kind"] == "PersistentVolumeClaim":
        yield ("storage",), {"storage": _size(item["spec"])}
    for pods in pods_of(item):
        role = pods.labels.get(keys.ROLE)
        yield ("roles", role) if role else (), _amounts(pods, is_task=bool(role))


def _literal_claims(item: Object) -> Iterator[Amount]:
    """Yield the size of a claim, or the sizes of the claims that a StatefulSet creates for all its pods."""
    spec = data_path.at(item, ("spec",))
    if item["kind"] == "PersistentVolumeClaim":
        yield _literal_size(spec)
    elif item["kind"] == "StatefulSet":
        replicas = data_path.at(spec, ("replicas",))
        templates = data_path.at(spec, ("volumeClaimTemplates",))
        for claim in templates if isinstance(templates, list) else ():
            size = _literal_size(data_path.at(claim, ("spec",)))
            yield size * (replicas if type(replicas) is int else 1)


def _literal_size(spec: Any) -> Amount:
    size = data_path.at(spec, ("resources", "requests", "storage"))
    return quantity.parse(size) if quantity.is_quantity(size) else 0


def _amounts(pods: Pods, *, is_task: bool) -> dict[str, Amount]:
    """Return the resources of a group of equal pods. If `is_task` is true, the pods also count as tasks."""
    requests = pod_requests(pods.spec)
    gpus = {name: value for name, value in requests.items() if re.search(IS_GPU, name) and value}
    whole = sum((value for name, value in gpus.items() if _WHOLE_GPU.fullmatch(name)), 0)
    claims = (data_path.at(volume, ("ephemeral", "volumeClaimTemplate", "spec")) for volume in _volumes(pods))
    pod_amounts = {
        "gpus": whole or int(bool(gpus)),
        "cpu": requests.get("cpu", 0),
        "memory": requests.get("memory", 0),
        "replicas": int(is_task),
        "storage": sum((_size(claim) for claim in claims if claim), 0),
    }
    return {resource: value * pods.count for resource, value in pod_amounts.items()}


def _volumes(pods: Pods) -> Sequence[Mapping[str, Any]]:
    return pods.spec.get("volumes") or ()


def _size(claim: Mapping[str, Any]) -> Amount:
    return quantity.parse(data_path.at(claim, ("resources", "requests", "storage")) or 0)


def _origin(document: Document, use: JobUse, resource: str) -> Path:
    """Return the path of the part of the job, such as a role, that requests the most of a resource."""
    part = max(use.by_part, key=lambda path: use.by_part[path][resource])
    endings: list[Path] = [(*part, "replicas"), (*part, "resources"), part] if part[:1] == ("roles",) else [part]
    bases: list[Path] = [("spec", "environments", use.environment)] if use.environment else []
    paths = [(*base, *end) for base in (*bases, ("spec",)) for end in endings] if part else []
    return next((path for path in paths if data_path.has(document.data, path)), ("metadata", "name"))


# -- limits of layers ----------------------------------------------------------------------------------------------


def _layers(document: Document) -> Iterator[Document]:
    return iter(()) if document.under is None else document.under.layers()


def limit_paths(layer: Document) -> Iterator[Path]:
    """Yield the path of each amount below `limits` of a tfgen.yaml, such as ("job", "gpus")."""
    yield from (("job", resource) for resource in data_path.at(layer.data, ("limits", "job")) or ())
    for kind in _SUMS:
        for name in _named(layer, kind):
            yield from ((kind, name, resource) for resource in data_path.at(layer.data, ("limits", kind, name)))


def _named(layer: Document, kind: str) -> Sequence[str]:
    return tuple(data_path.at(layer.data, ("limits", kind)) or ())


def _has(layer: Document, path: Path) -> bool:
    return data_path.has(layer.data, ("limits", *path))


def written_limit(layer: Document, path: Path) -> Any:
    """Return the amount at a path below `limits` of a tfgen.yaml, as written in the file."""
    return data_path.at(layer.data, ("limits", *path))


def limit_value(layer: Document, path: Path) -> Amount:
    """Return the amount at a path below `limits` of a tfgen.yaml, as a number."""
    return quantity.parse(written_limit(layer, path))


def _over_sum(layer: Document, path: Path, where: str, job_uses: Sequence[JobUse]) -> Iterator[Problem]:
    for resource in written_limit(layer, path):
        total = sum((use.total[resource] for use in job_uses), 0)
        limit = limit_value(layer, (*path, resource))
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

"""The jobs of a namespace as manifests: TFJobs, Volcano Jobs, StatefulSets and others, as their users wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from tfgen.commands.importing.import_jobs import Source
from tfgen.errors import UsageError
from tfgen.importers.live_object import is_controlled, user_object
from tfgen.importers.part import part_of
from tfgen.importers.task_command import read_command
from tfgen.kubernetes.object import Object
from tfgen.live.api import Api, ApiError
from tfgen.live.connection import Access, Connection
from tfgen.live.pauses import ONCE
from tfgen.text import yaml_text
from tfgen.words import either, meant, nearest

_JOBS: Final[Mapping[str, Sequence[str]]] = {
    "TFJob": ("kubeflow.org/v1", "kubeflow.org/v1beta2", "kubeflow.org/v1beta1", "kubeflow.org/v1alpha2"),
    "Job": ("batch.volcano.sh/v1alpha1",),
    "JobSet": ("jobset.x-k8s.io/v1alpha2",),
    "TrainJob": ("trainer.kubeflow.org/v1alpha1",),
}
"""Custom kinds that are a job each, by the versions in which they are asked for: the first that is there."""
_TASKS: Final = (
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("v1", "ReplicationController"),
    ("v1", "Pod"),
)
"""Kinds of Kubernetes' own whose objects are tasks, where they are told of a cluster of TensorFlow's."""
_BESIDE: Final = (
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"),
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ("scheduling.incubator.k8s.io/v1alpha1", "PodGroup"),
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
)
"""What says of a job more than its own object does."""


def live_manifests(access: Access, names: Sequence[str], tell: Callable[[str], None]) -> list[Source]:
    """The manifests of the jobs in a namespace, a source an object.

    Args:
        access: which cluster, and which namespace.
        names: the jobs that are wanted, such as tfjob/mnist; none for all that run TensorFlow.
        tell: is told, in a line, of what is left out, and of a server that does not answer.

    Raises:
        UsageError: a name is none of the namespace's, or it has no job.
        TfgenError: the cluster cannot be read.
    """
    connection = Connection(access)
    api, namespace = Api(connection, ONCE, tell), access.namespace or connection.namespace
    kinds = [(version, kind) for kind, versions in _JOBS.items() for version in _first_served(api, kind, versions)]
    items = [item for version, kind in (*kinds, *_TASKS) for item in _objects(api, version, kind, namespace, tell)]
    jobs = {_title(item): item for item in items if not is_controlled(item)}
    beside = [item for version, kind in _BESIDE for item in _objects(api, version, kind, namespace, tell)]
    wanted = _wanted(jobs, beside, names, namespace, tell)
    if not wanted:
        raise UsageError(f"the namespace {namespace} has no job that tfgen can import")
    return [_source(item) for item in (*wanted, *_beside(beside, wanted))]


def _first_served(api: Api, kind: str, versions: Sequence[str]) -> Iterator[str]:
    return islice((version for version in versions if api.resource(version, kind)), 1)


def _objects(api: Api, version: str, kind: str, namespace: str, tell: Callable[[str], None]) -> Iterator[Object]:
    """The objects of a kind; none where the cluster has no such kind, or the account may not list it, which is told."""
    resource = api.resource(version, kind)
    if resource is None:
        return
    try:
        items = api.objects(resource, namespace)
    except ApiError as error:
        if not error.is_forbidden:
            raise
        tell(f"{resource.full_name}: left out, since the account may not list them")
        return
    for item in items:
        yield {**item, "apiVersion": version, "kind": kind}


def _wanted(
    jobs: Mapping[str, Object],
    beside: Sequence[Object],
    names: Sequence[str],
    namespace: str,
    tell: Callable[[str], None],
) -> list[Object]:
    unknown = [name for name in names if name.lower() not in jobs]
    if unknown:
        known = [name for name, item in jobs.items() if _runs_tensorflow(item, beside)]
        hint = meant(nearest(unknown[0], known)) or (f"; it has {either(known, 'and')}" if known else "")
        raise UsageError(f"{unknown[0]}: the namespace {namespace} has none{hint}")
    if names:
        return [jobs[name.lower()] for name in dict.fromkeys(names)]
    unrelated = [name for name, item in jobs.items() if not _runs_tensorflow(item, beside)]
    if unrelated:
        tell(f"left out, since nothing tells them of a cluster of TensorFlow's: {either(unrelated, 'and')}")
    return [item for name, item in jobs.items() if name not in unrelated]


def _runs_tensorflow(item: Object, beside: Sequence[Object]) -> bool:
    """Whether anything in a job, or in the runtime that it names, tells its tasks of a cluster."""
    if item["kind"] == "TFJob" or "tensorflow" in item.get("spec", {}).get("plugins", {}):
        return True
    trainer = item.get("spec", {}).get("trainer", {}) if item["kind"] == "TrainJob" else {}
    reference = item.get("spec", {}).get("runtimeRef", {}) if item["kind"] == "TrainJob" else {}
    runtimes = [runtime for runtime in beside if reference and runtime["metadata"]["name"] == reference.get("name")]
    containers = [container for data in (item, *runtimes) for container in _containers(data)]
    return any(read_command(part_of(container)).has_cluster for container in (trainer, *containers))


def _containers(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from value if key == "containers" and isinstance(value, list) else _containers(value)
    elif isinstance(data, list):
        for value in data:
            yield from _containers(value)


def _beside(beside: Sequence[Object], jobs: Sequence[Object]) -> Iterator[Object]:
    """Runtimes that a job names, and PodGroups of a user or of a TFJob's operator."""
    has_tf_job = any(item["kind"] == "TFJob" for item in jobs)
    runtimes = {item["spec"].get("runtimeRef", {}).get("name") for item in jobs if item["kind"] == "TrainJob"}
    for item in beside:
        if has_tf_job if item["kind"] == "PodGroup" else item["metadata"]["name"] in runtimes:
            yield item


def _source(item: Object) -> Source:
    return Source(_title(item), yaml_text.dump(user_object(item)).encode())


def _title(item: Object) -> str:
    """The object as kubectl names it, such as tfjob/mnist."""
    return f"{item['kind'].lower()}/{item['metadata']['name']}"

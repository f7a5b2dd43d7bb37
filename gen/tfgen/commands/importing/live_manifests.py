"""Read the jobs in a namespace of a cluster as manifests, without the fields that the API server added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from tfgen.commands.importing.import_jobs import Source
from tfgen.errors import UsageError
from tfgen.importers.live_object import is_generated, user_object
from tfgen.importers.part import part_of
from tfgen.importers.task_command import read_command
from tfgen.kubernetes.object import Object
from tfgen.live.api import ONCE, Api, ApiError
from tfgen.live.connection import Access, Connection
from tfgen.text import yaml_text
from tfgen.words import either, meant, nearest

_JOBS: Final[Mapping[str, Sequence[str]]] = {
    "TFJob": ("kubeflow.org/v1", "kubeflow.org/v1beta2", "kubeflow.org/v1beta1", "kubeflow.org/v1alpha2"),
    "Job": ("batch.volcano.sh/v1alpha1",),
    "JobSet": ("jobset.x-k8s.io/v1alpha2",),
    "TrainJob": ("trainer.kubeflow.org/v1alpha1",),
}
"""Kind of a custom job -> API versions of the kind. tfgen reads the first of these versions that the cluster serves."""
_TASKS: Final = (
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("v1", "ReplicationController"),
    ("v1", "Pod"),
)
"""Built-in kinds of objects that may be tasks. tfgen imports only objects that configure a TensorFlow cluster."""
_COMPANIONS: Final = (
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"),
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ("scheduling.incubator.k8s.io/v1alpha1", "PodGroup"),
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
)
"""Kinds of the additional objects that belong to a job."""


def live_manifests(access: Access, names: Sequence[str], tell: Callable[[str], None]) -> list[Source]:
    """Return the manifests of the jobs in a namespace of a cluster, one file for each object.

    Args:
        access: the cluster and the namespace.
        names: the names of the jobs, such as tfjob/mnist; empty for all jobs that run TensorFlow.
        tell: prints a message about omitted objects, and about a server that does not answer.

    Raises:
        UsageError: the namespace lacks one of the jobs `names`, or has no job.
        TfgenError: the cluster cannot be read.
    """
    connection = Connection(access)
    api, namespace = Api(connection, ONCE, tell), access.namespace or connection.namespace
    kinds = [(version, kind) for kind, versions in _JOBS.items() for version in _first_served(api, kind, versions)]
    items = [item for version, kind in (*kinds, *_TASKS) for item in _objects(api, version, kind, namespace, tell)]
    jobs = {_title(item): item for item in items if not is_generated(item)}
    companions = [item for version, kind in _COMPANIONS for item in _objects(api, version, kind, namespace, tell)]
    selected = _selected(jobs, companions, names, namespace, tell)
    if not selected:
        raise UsageError(f"the namespace {namespace} has no job that tfgen can import")
    return [_source(item) for item in (*selected, *_companions(companions, selected))]


def _first_served(api: Api, kind: str, versions: Sequence[str]) -> Iterator[str]:
    return islice((version for version in versions if api.resource(version, kind)), 1)


def _objects(api: Api, version: str, kind: str, namespace: str, tell: Callable[[str], None]) -> Iterator[Object]:
    """Yield the objects of a kind in a namespace. If the user or the server cannot list the kind, call `tell`."""
    resource = api.resource(version, kind)
    if resource is None:
        return
    try:
        items = api.objects(resource, namespace)
    except ApiError as error:
        if not error.is_unreadable:
            raise
        reason = "the user may not list this kind" if error.is_forbidden else f"the server answers {error}"
        tell(f"{resource.full_name}: omitted, because {reason}")
        return
    for item in items:
        yield {**item, "apiVersion": version, "kind": kind}


def _selected(
    jobs: Mapping[str, Object],
    companions: Sequence[Object],
    names: Sequence[str],
    namespace: str,
    tell: Callable[[str], None],
) -> list[Object]:
    missing = [name for name in names if name.lower() not in jobs]
    if missing:
        candidates = [name for name, item in jobs.items() if _runs_tensorflow(item, companions)]
        hint = meant(nearest(missing[0], candidates))
        hint = hint or (f"; the namespace has {either(candidates, 'and')}" if candidates else "")
        raise UsageError(f"{missing[0]}: the namespace {namespace} has no such job{hint}")
    if names:
        return [jobs[name.lower()] for name in dict.fromkeys(names)]
    unrelated = [name for name, item in jobs.items() if not _runs_tensorflow(item, companions)]
    if unrelated:
        tell(f"omitted, because these objects do not configure a TensorFlow cluster: {either(unrelated, 'and')}")
    return [item for name, item in jobs.items() if name not in unrelated]


def _runs_tensorflow(item: Object, companions: Sequence[Object]) -> bool:
    """Return True if a job configures a TensorFlow cluster, for example with TF_CONFIG.

    Args:
        item: the job.
        companions: additional objects in the cluster, such as the TrainingRuntime that a TrainJob names. The runtime
            may also configure the TensorFlow cluster.
    """
    if item["kind"] == "TFJob" or "tensorflow" in item.get("spec", {}).get("plugins", {}):
        return True
    trainer = item.get("spec", {}).get("trainer", {}) if item["kind"] == "TrainJob" else {}
    reference = item.get("spec", {}).get("runtimeRef", {}) if item["kind"] == "TrainJob" else {}
    runtimes = [item for item in companions if reference and item["metadata"]["name"] == reference.get("name")]
    containers = [container for data in (item, *runtimes) for container in _containers(data)]
    return any(read_command(part_of(container)).has_cluster for container in (trainer, *containers))


def _containers(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from value if key == "containers" and isinstance(value, list) else _containers(value)
    elif isinstance(data, list):
        for value in data:
            yield from _containers(value)


def _companions(companions: Sequence[Object], jobs: Sequence[Object]) -> Iterator[Object]:
    """Yield the objects that belong to the given jobs: runtimes of TrainJobs, and PodGroups of TFJobs.

    If a TrainJob refers to a runtime, yield the runtime. If one of the jobs is a TFJob, yield all PodGroups.
    """
    has_tf_job = any(item["kind"] == "TFJob" for item in jobs)
    runtimes = {item["spec"].get("runtimeRef", {}).get("name") for item in jobs if item["kind"] == "TrainJob"}
    for item in companions:
        if has_tf_job if item["kind"] == "PodGroup" else item["metadata"]["name"] in runtimes:
            yield item


def _source(item: Object) -> Source:
    return Source(_title(item), yaml_text.dump(user_object(item)).encode())


def _title(item: Object) -> str:
    """Return the kind and the name of an object in the syntax of kubectl, such as tfjob/mnist."""
    return f"{item['kind'].lower()}/{item['metadata']['name']}"

"""``tfgen plan``: compute whether the pods of jobs fit on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.commands.cluster.declared_runs import RunObjects
from tfgen.job.training_job import ROLE_NAMES
from tfgen.kubernetes import keys
from tfgen.kubernetes.labels import added_labels
from tfgen.kubernetes.object import Object, literal_name
from tfgen.kubernetes.pods import Pods, pods_of
from tfgen.scheduling.cluster import cluster_of, namespace_of
from tfgen.scheduling.pod_template import PodTemplate
from tfgen.scheduling.verdict import Plan, PlannedRun, plan_placement

_OUTSIDE_GANG: Final = "evaluator"
_DEFAULT_NAMESPACE: Final = "default"
_KINDS_WITH_PODS: Final = ("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob")


def plan_runs(runs: Sequence[tuple[RunObjects, str | None]], objects: Sequence[Object]) -> Plan:
    """Compute for each run whether the run fits on the nodes of a cluster, together with all other runs and pods.

    Args:
        runs: the runs, each with its namespace; None for the namespace `default`.
        objects: the objects of the cluster. Existing pods of the planned runs are not counted a second time.
    """
    run_keys = {(namespace or _DEFAULT_NAMESPACE, item.run.full_name, item.run.run) for item, namespace in runs}
    existing = [item for item in objects if item["kind"] != "Pod" or _run_key(item) not in run_keys]
    classes = [item for of_run, _ in runs for item in of_run.objects if item["kind"] == "PriorityClass"]
    planned = [
        PlannedRun(item.run.title, tuple(_templates(item, namespace or _DEFAULT_NAMESPACE))) for item, namespace in runs
    ]
    return plan_placement(cluster_of([*existing, *classes]), planned)


def _run_key(pod: Object) -> tuple[str, str, str]:
    """Return the namespace, the job name and the run name of a pod, such as ("ml", "mnist", "2")."""
    labels = pod["metadata"].get("labels") or {}
    return namespace_of(pod), labels.get(keys.JOB, ""), labels.get(keys.RUN, "")


def _templates(item: RunObjects, namespace: str) -> Iterator[PodTemplate]:
    """Yield the pod templates of a run, except for the test pods of Helm, which do not run during the training."""
    literal = [name for name in map(literal_name, _with_pods(item.objects)) if name]
    all_pods = [pods for owner in item.objects if not _is_hook(owner) for pods in pods_of(owner)]
    tasks = sum(pods.count for pods in all_pods if _is_in_gang(pods))
    has_gang = item.run.gang is not None and item.run.gang[1] >= tasks
    for pods in all_pods:
        yield PodTemplate(
            owner=item.run.title,
            role=_role(pods),
            namespace=namespace,
            labels=pods.labels,
            spec=pods.spec,
            count=pods.count,
            in_gang=has_gang and _is_in_gang(pods),
            doubts=(*_doubts(pods, item.objects), *(f"objects.{name} may create additional pods" for name in literal)),
            added=added_labels(pods.owner, pods.count),
        )


def _with_pods(objects: Sequence[Object]) -> list[Object]:
    return [item for item in objects if item["kind"] in _KINDS_WITH_PODS]


def _is_hook(item: Object) -> bool:
    return keys.HOOK in (item["metadata"].get("annotations") or {})


def _role(pods: Pods) -> str:
    owner: Mapping[str, Any] = pods.owner["metadata"]
    role: str = pods.labels.get(keys.ROLE) or pods.labels.get(keys.COMPONENT) or owner["name"]
    return role


def _is_in_gang(pods: Pods) -> bool:
    role = _role(pods)
    return role in ROLE_NAMES and role != _OUTSIDE_GANG


def _doubts(pods: Pods, objects: Sequence[Object]) -> Iterator[str]:
    """Yield a message for each controller that makes the plan of `pods` uncertain.

    For example, Kueue may delay the pods, and an operator may change the pods. `objects` are all objects of the run.
    """
    queue = (pods.owner["metadata"].get("labels") or {}).get(keys.QUEUE)
    if queue:
        yield f"the queue {queue} decides when the pods start"
    if not pods.has_all_labels:
        yield f"the operator of the {pods.owner['kind']} creates the pods, and may change the pods"
    if keys.POD_GROUP in pods.labels:
        yield "the coscheduling plugin decides when the pods start"
    if any(item["kind"] == "PodGroup" and item["spec"].get("schedulingConstraints") for item in objects):
        yield "the topology of the gang limits the choice of nodes"
    if keys.ECI in pods.labels or keys.ECI in pods.annotations:
        yield "Alibaba Cloud may run the pod on a separate instance"
    if keys.ELASTIC_DL_JOB in pods.labels:
        yield "the master of ElasticDL creates the pods of the tasks"

"""``tfgen plan``: compute whether the pods of jobs fit on the nodes of a cluster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.commands.cluster.declared_runs import RunObjects
from tfgen.job.training_job import ROLE_NAMES
from tfgen.kubernetes import keys
from tfgen.kubernetes.labels import added_labels
from tfgen.kubernetes.object import Object, literal_name
from tfgen.kubernetes.pods import Pods, Profile, pods_of
from tfgen.rules.pod_parts import PodPart
from tfgen.rules.security import find_weak_fields
from tfgen.scheduling.cluster import ENDED, KINDS, cluster_of, known_kinds_of, namespace_of
from tfgen.scheduling.pods import PodTemplate
from tfgen.scheduling.verdict import Plan, PlannedRun, plan_placement

_CLAIM_TEMPLATES: Final = ("spec", "volumeClaimTemplates")
_OUTSIDE_GANG: Final = "evaluator"
_DEFAULT_NAMESPACE: Final = "default"
_KINDS_WITH_PODS: Final = ("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob")


def plan_runs(
    runs: Sequence[tuple[RunObjects, str | None]], objects: Sequence[Object], known_kinds: Collection[str] | None = None
) -> Plan:
    """Compute for each run whether the run fits on the nodes of a cluster, together with all other runs and pods.

    Args:
        runs: the runs, each with its namespace; None for the namespace `default`.
        objects: the objects of the cluster. Existing pods of the planned runs are not counted a second time.
        known_kinds: the kinds of which `objects` has all objects; None for a file, whose objects show it.

    Raises:
        TfgenError: an object of the cluster is not valid.
    """
    placed = [(item, namespace or _DEFAULT_NAMESPACE) for item, namespace in runs]
    run_keys = {(namespace, item.run.full_name, item.run.run) for item, namespace in placed}
    existing, replaced, earlier = [], defaultdict(list), Counter[tuple[str, str]]()
    for item in objects:
        key = _run_key(item)
        if item["kind"] != "Pod" or not key[1]:
            existing.append(item)
        elif (item.get("status") or {}).get("phase") in ENDED:
            continue
        elif key in run_keys:
            replaced[key].append((key[0], item["spec"]))
        else:
            existing.append(item)
            earlier[key[:2]] += bool(item["spec"].get("nodeName"))
    planned = [
        PlannedRun(
            title=item.run.title,
            pods=tuple(_templates(item, namespace)),
            replaced_pods=tuple(replaced[namespace, item.run.full_name, item.run.run]),
            earlier_pods=earlier[namespace, item.run.full_name],
        )
        for item, namespace in placed
    ]
    created = (owned for item, namespace in placed for owned in _own_objects(item, namespace))
    kinds = known_kinds_of(objects) if known_kinds is None else known_kinds
    return plan_placement(cluster_of([*created, *existing], kinds), planned)


def _own_objects(item: RunObjects, namespace: str) -> Iterator[Object]:
    """Yield the objects of a run that pods refer to, such as claims. An object of the cluster takes precedence."""
    for owned in item.objects:
        kind = owned["kind"]
        if kind in KINDS and kind not in ("Node", "Pod") and isinstance(owned.get("spec", {}), Mapping):
            yield {**owned, "metadata": {**owned["metadata"], "namespace": namespace}}
        if literal_name(owned) is None and kind == "StatefulSet":
            for numbered in added_labels(owned, owned["spec"].get("replicas", 1)).numbered:
                for claim in data_path.at(owned, _CLAIM_TEMPLATES) or ():
                    metadata = {"name": _claim_name(claim, numbered), "namespace": namespace}
                    yield {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim["spec"]}


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
        template = PodTemplate(
            owner=item.run.title,
            role=_role(pods),
            namespace=namespace,
            labels=pods.labels,
            spec=pods.spec,
            count=pods.count,
            in_gang=has_gang and _is_in_gang(pods),
            doubts=(*_doubts(pods, item.objects), *(f"objects.{name} may create additional pods" for name in literal)),
            added=added_labels(pods.owner, pods.count),
            weak_fields=tuple(_weak_fields(pods)),
        )
        if data_path.at(pods.owner, _CLAIM_TEMPLATES):
            yield from _with_own_claims(template, pods.owner)
        else:
            yield template


def _weak_fields(pods: Pods) -> Iterator[tuple[Profile, str]]:
    """Yield each field that the Pod Security profile restricted refuses, with the strongest profile that allows it."""
    spec, pod = pods.spec, pods.spec.get("securityContext") or {}
    volumes = (PodPart(("volumes", index), volume) for index, volume in enumerate(spec.get("volumes") or ()))
    for part in (PodPart((), spec), *(PodPart(path, container) for path, container in pods.containers), *volumes):
        for field in find_weak_fields(part):
            yield field.profile, field.description
    for _, container in pods.containers:
        context = container.get("securityContext") or {}
        effective = {**pod, **context}
        is_strong = context.get("allowPrivilegeEscalation") is False and effective.get("runAsNonRoot") is True
        drops_all = "ALL" in (data_path.at(context, ("capabilities", "drop")) or ())
        if not is_strong or not drops_all or not effective.get("seccompProfile"):
            yield "baseline", f"the container {container['name']} without the fields of the profile restricted"


def _with_own_claims(template: PodTemplate, owner: Object) -> Iterator[PodTemplate]:
    """Yield a template for each pod of a StatefulSet whose pods have claims of their own."""
    for numbered in template.added.numbered:
        volumes = [
            {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": _claim_name(claim, numbered)}}
            for claim in owner["spec"]["volumeClaimTemplates"]
        ]
        yield template.replaced(
            spec={**template.spec, "volumes": [*(template.spec.get("volumes") or ()), *volumes]},
            count=1,
            added=template.added.replaced(numbered=(numbered,)),
        )


def _claim_name(claim: Object, numbered: Mapping[str, str]) -> str:
    """Return the name of a pod's claim, from its template and the labels of the pod: `data-mnist-ps-0`."""
    return f"{claim['metadata']['name']}-{numbered[keys.STATEFUL_SET_POD]}"


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

"""The number of tasks that the objects in a cluster request, by role.

task_counts(stateful_set)  # {"worker": 4}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.live.declared_run import DeclaredRun
from tfgen.live.snapshot import Snapshot
from tfgen.plural import count

_ROLE: Final = ("metadata", "labels", keys.ROLE)


def live_task_counts(run: DeclaredRun, snapshot: Snapshot) -> Mapping[str, int]:
    """Return the number of tasks of each role of a run. Example: {"chief": 1, "worker": 4}.

    The number comes from the objects in the cluster that create the pods of the role. If the cluster has no such
    object, or if the release of the run has scaled the object to 0, the number comes from job.yaml.
    """
    controllers = dict.fromkeys([*run.controllers.values(), *([run.deciding_object] if run.deciding_object else [])])
    live_objects = [snapshot.objects[item] for item in controllers if item in snapshot.objects]
    counts: Counter[str] = Counter()
    for item in live_objects:
        counts.update(task_counts(item))
    return {role: counts[role] or declared for role, declared in run.roles.items()}


def live_gang_size(run: DeclaredRun, snapshot: Snapshot) -> int:
    """Return the number of pods that the gang starts together; 0 for a run without a gang."""
    if run.gang is None:
        return 0
    spec = (snapshot.objects.get(run.gang[0]) or {}).get("spec")
    live = data_path.at(spec, ("minMember",)) or data_path.at(spec, ("schedulingPolicy", "gang", "minCount"))
    return int(live or run.gang[1])


def differences(run: DeclaredRun, snapshot: Snapshot) -> Iterator[str]:
    """Yield a text for each number of tasks or pods that differs between the cluster and job.yaml.

    Example: "worker: the cluster has 3 tasks, but job.yaml sets 4".
    """
    for role, number in live_task_counts(run, snapshot).items():
        if number != run.roles[role]:
            yield f"{role}: the cluster has {count(number, 'task')}, but job.yaml sets {run.roles[role]}"
    size = live_gang_size(run, snapshot)
    if run.gang and size != run.gang[1]:
        pods = count(size, "pod")
        yield f"gang {run.gang[0][2]}: the object in the cluster requires {pods}, but job.yaml sets {run.gang[1]}"


def task_counts(item: Object) -> Mapping[str, int]:
    """Return the number of pods of each role that an object, such as a StatefulSet, requests. Example: {"worker": 4}.

    A label in the pod template has the name of the role.
    """
    counts: Counter[str] = Counter()
    for template, number in _templates(item):
        role = data_path.at(template, _ROLE)
        if isinstance(role, str) and isinstance(number, int):
            counts[role] += number
    return counts


def _templates(item: Object) -> Iterator[tuple[Any, Any]]:
    """Yield each pod template of an object, with the number of pods that the object creates from the template."""
    spec: Mapping[str, Any] = item.get("spec") or {}
    parts: Sequence[Mapping[str, Any]]
    match item["kind"]:
        case "StatefulSet":
            yield spec.get("template"), spec.get("replicas", 1)
        case "TFJob":
            parts = [*(spec.get("tfReplicaSpecs") or {}).values()]
            yield from ((part.get("template"), part.get("replicas", 1)) for part in parts)
        case "JobSet":
            parts = spec.get("replicatedJobs") or ()
            for part in parts:
                job = data_path.at(part, ("template", "spec")) or {}
                yield job.get("template"), part.get("replicas", 1) * job.get("completions", 1)
        case "Job" if "tasks" in spec:  # a Volcano Job
            parts = spec["tasks"] or ()
            yield from ((part.get("template"), part.get("replicas", 1)) for part in parts)
        case "Job":
            yield spec.get("template"), spec.get("completions", 1)

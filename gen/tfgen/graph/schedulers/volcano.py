"""Volcano: https://volcano.sh/en/docs/podgroup/.

The scheduler reads the PodGroup of a pod only from the annotation ``scheduling.k8s.io/group-name``
(pkg/scheduler/api/job_info.go), and not from the annotation ``scheduling.volcano.sh/group-name``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import Key, Node, When, if_set
from tfgen.graph.objects import cluster_spec, names
from tfgen.graph.schedulers.gang import (
    MIN_RESOURCES,
    PRIORITY,
    QUEUE,
    Gang,
    GangBinding,
    is_partial,
    may_be_partial,
    min_members,
)
from tfgen.job.training_job import RoleName, Structure
from tfgen.kubernetes import keys

# Every program needs all tasks of these roles. ParameterServerStrategy also waits for all workers, but a program of
# TensorFlow 1 with device filters, such as examples/tf1-flags, starts with a part of the workers. Volcano reads
# minTaskMember only if minMember is at least the sum of its numbers (CheckTaskReady in pkg/scheduler/api/job_info.go).
_COMPLETE_ROLES: Final[tuple[RoleName, ...]] = ("chief", "ps")


def _spec(structure: Structure) -> Mapping[Key, Node]:
    """Return the spec of the PodGroup.

    Only a job with ``gang.minResources`` gets ``minResources``, because Volcano reserves these resources in the queue
    even after the end of the run.
    """
    complete: dict[Key, Node] = {role: cluster_spec.replicas(role) for role in _COMPLETE_ROLES if structure.role(role)}
    return {
        "minResources": MIN_RESOURCES,
        "minMember": min_members(structure),
        **({"minTaskMember": When(is_partial(structure), complete)} if complete and may_be_partial(structure) else {}),
        "queue": if_set(QUEUE),
        "priorityClassName": if_set(PRIORITY),
    }


def _task(role: Node) -> GangBinding:
    return GangBinding(annotations={keys.GROUP_NAME: names.RUN, keys.TASK_SPEC: role})


GANG: Final = Gang(
    group="scheduling.volcano.sh",
    version="v1beta1",
    spec=_spec,
    task=_task,
    evaluator=GangBinding(annotations={keys.VOLCANO_QUEUE: if_set(QUEUE)}),
    scheduler_name="volcano",
)

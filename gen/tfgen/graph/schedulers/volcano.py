"""Volcano: https://volcano.sh/en/docs/podgroup/.

Its scheduler groups by the annotation ``scheduling.k8s.io/group-name`` alone (pkg/scheduler/api/job_info.go); one
named ``scheduling.volcano.sh/group-name`` is read for nothing of the kind.
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
    Binding,
    Gang,
    is_partial,
    may_be_partial,
    min_members,
)
from tfgen.job.training_job import RoleName, Structure
from tfgen.kubernetes import keys

# What TensorFlow cannot do without a single task of; workers it can be short of. Volcano heeds it from a minMember on
# that is at least the sum of them (CheckTaskReady in its pkg/scheduler/api/job_info.go).
_WHOLE: Final[tuple[RoleName, ...]] = ("chief", "ps")


def _spec(structure: Structure) -> Mapping[Key, Node]:
    """It has ``minResources`` only where they are asked for: a finished group would go on holding them of its queue."""
    complete: dict[Key, Node] = {role: cluster_spec.replicas(role) for role in _WHOLE if structure.role(role)}
    return {
        "minResources": MIN_RESOURCES,
        "minMember": min_members(structure),
        **({"minTaskMember": When(is_partial(structure), complete)} if complete and may_be_partial(structure) else {}),
        "queue": if_set(QUEUE),
        "priorityClassName": if_set(PRIORITY),
    }


def _task(role: Node) -> Binding:
    return Binding(annotations={keys.GROUP_NAME: names.RUN, keys.TASK_SPEC: role})


GANG: Final = Gang(
    group="scheduling.volcano.sh",
    version="v1beta1",
    spec=_spec,
    task=_task,
    evaluator=Binding(annotations={keys.VOLCANO_QUEUE: if_set(QUEUE)}),
    scheduler_name="volcano",
)

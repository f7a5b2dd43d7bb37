"""A gang scheduler, as data: where its PodGroup lives and how pods say that they belong to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tfgen import cluster_spec
from tfgen.holes import AllOf, Default, Greater, Hole, Node, Sum, When, given
from tfgen.job import RoleName, Structure
from tfgen.objects import labels, names
from tfgen.objects.values import value

GROUP_NAME: Final = "scheduling.k8s.io/group-name"
ENABLED: Final = value("gang.enabled")
QUEUE: Final = value("gang.queue")
MIN_AVAILABLE: Final = value("gang.minAvailable")
MIN_RESOURCES: Final = value("gang.minResources")

# What TensorFlow cannot do without a single task of; workers it can be short of. Volcano heeds it from a minMember on
# that is at least the sum of them (CheckTaskReady in its pkg/scheduler/api/job_info.go).
_WHOLE: Final[tuple[RoleName, ...]] = ("chief", "ps")


@dataclass(frozen=True)
class Gang:
    """What one gang scheduler wants to see.

    Attributes:
        api_version: of its PodGroup.
        scheduler_name: what its pods say as ``schedulerName``.
        task_annotation: the annotation that tells the role, if it knows one.
        queue_annotation: the annotation by which a pod outside any group names its queue, if it knows one.
        has_min_resources: whether its PodGroup has a field ``minResources``.
    """

    api_version: str
    scheduler_name: str
    task_annotation: str | None = None
    queue_annotation: str | None = None
    has_min_resources: bool = False

    def pod_group(self, structure: Structure) -> Node:
        """The PodGroup of one run.

        It has ``minResources`` only where they are asked for: a finished group would go on holding them of its queue.
        """
        whole = {role: cluster_spec.replicas(role) for role in _WHOLE if structure.role(role)}
        by_task: dict[str, Node] = {"minTaskMember": When(is_partial(structure), whole)} if whole else {}
        return When(
            ENABLED,
            {
                "apiVersion": self.api_version,
                "kind": "PodGroup",
                "metadata": labels.metadata(names.RUN, annotations=labels.BEFORE_PODS),
                "spec": {
                    "minMember": Default(MIN_AVAILABLE, members(structure)),
                    **(by_task if self.task_annotation else {}),
                    "queue": given(QUEUE),
                    "priorityClassName": given(value("gang.priorityClassName")),
                    **({"minResources": MIN_RESOURCES} if self.has_min_resources else {}),
                },
            },
        )

    def pod_annotations(self, role: RoleName) -> Mapping[str, Node]:
        """What binds a pod to its run's group. The evaluator stands outside, in the same queue."""
        if role == "evaluator":
            return {self.queue_annotation: When(ENABLED, given(QUEUE))} if self.queue_annotation else {}
        task: dict[str, Node] = {self.task_annotation: When(ENABLED, role)} if self.task_annotation else {}
        return {GROUP_NAME: When(ENABLED, names.RUN), **task}

    def pod_scheduler(self) -> Node:
        """The ``schedulerName`` of the run's pods, the evaluator's too: two schedulers must not share GPUs."""
        return When(ENABLED, self.scheduler_name)


def members(structure: Structure) -> Node:
    """How many pods TensorFlow waits for at its start: every task but the evaluator."""
    return Sum(tuple(cluster_spec.replicas(role.name) for role in structure.roles if role.name != "evaluator"))


def is_partial(structure: Structure) -> Hole:
    """Whether the gang starts before all of its tasks can."""
    return AllOf((MIN_AVAILABLE, Greater(members(structure), MIN_AVAILABLE)))

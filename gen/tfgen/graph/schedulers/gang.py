"""The description of a gang scheduler: the object of a gang, and the fields that assign a pod to the gang."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tfgen.graph.holes import AllOf, Default, Expression, Greater, Key, Node, Sum, Text, When
from tfgen.graph.objects import cluster_spec, labels, names
from tfgen.graph.objects.values import ROLE, value
from tfgen.graph.template import Template
from tfgen.job.training_job import Role, RoleName, Structure
from tfgen.record import EMPTY, Record
from tfgen.schema.gang_fields import FIELDS

ENABLED: Final = value("gang.enabled")
QUEUE: Final = value("gang.queue")
MIN_AVAILABLE: Final = value("gang.minAvailable")
MIN_RESOURCES: Final = value("gang.minResources")
PRIORITY: Final = value("gang.priorityClassName")
REQUIRED_TOPOLOGY: Final = value("gang.requiredTopology")
_SCHEDULER_NAME: Final = value("gang.schedulerName")


class GangBinding(Record):
    """The fields that assign a pod to a gang.

    Attributes:
        labels: labels of the pod.
        annotations: annotations of the pod.
        spec: fields of the spec of the pod.
    """

    labels: Mapping[Key, Node] = EMPTY
    annotations: Mapping[Key, Node] = EMPTY
    spec: Mapping[Key, Node] = EMPTY


class Gang(Record):
    """A gang scheduler.

    Attributes:
        task: a function that takes the name of a role, and returns the fields that assign the pods of the role to the
            gang.
        group: the API group of the PodGroup; empty for a scheduler without a PodGroup.
        version: the API version of the PodGroup.
        spec: a function that takes the structure of a job, and returns the spec of the PodGroup; None without a
            PodGroup.
        workload_labels: the labels that select the queue of a workload object; empty if the scheduler queues only pods.
        evaluator: the fields for the pod of the evaluator, which is not a member of the gang.
        scheduler_name: the ``schedulerName`` of the pods if ``gang.schedulerName`` is empty; empty for the default
            scheduler of the cluster.
    """

    task: Callable[[Node], GangBinding]
    group: str = ""
    version: Node = ""
    spec: Callable[[Structure], Mapping[Key, Node]] | None = None
    workload_labels: Mapping[Key, Node] = EMPTY
    evaluator: GangBinding = GangBinding()
    scheduler_name: str = ""

    def pod_group(self, structure: Structure) -> tuple[Template, ...]:
        """Return the template of the PodGroup of a run, if the scheduler has PodGroups."""
        if self.spec is None:
            return ()
        group: Node = {
            "apiVersion": Text((self.group, "/", self.version)),
            "kind": "PodGroup",
            "metadata": labels.metadata(names.RUN, annotations=labels.BEFORE_PODS),
            "spec": self.spec(structure),
        }
        return (Template("podgroup", When(ENABLED, group)),)

    def object_labels(self) -> Mapping[Key, Node]:
        """Return the labels that select the queue of the workload object, if the gang is enabled."""
        return _if_enabled(self.workload_labels)

    def binding_for(self, role: RoleName) -> GangBinding:
        """Return the fields that assign the pods of a role to the gang.

        The evaluator is not a member of the gang. The evaluator uses the same scheduler as the gang, because two
        schedulers could assign the same GPU to two pods.
        """
        binding = self.evaluator if role == "evaluator" else self.task(ROLE)
        return GangBinding(
            _if_enabled(binding.labels),
            _if_enabled(binding.annotations),
            {"schedulerName": self._scheduler(), **_if_enabled(binding.spec)},
        )

    def _scheduler(self) -> Node:
        if self.scheduler_name:
            return When(ENABLED, Default(_SCHEDULER_NAME, self.scheduler_name))
        return When(AllOf((ENABLED, _SCHEDULER_NAME)), _SCHEDULER_NAME)


def _if_enabled(nodes: Mapping[Key, Node]) -> dict[Key, Node]:
    return {key: When(ENABLED, node) for key, node in nodes.items()}


def roles(structure: Structure) -> tuple[Role, ...]:
    """Return the roles that belong to the gang: all roles except the evaluator, for which TensorFlow does not wait."""
    return tuple(role for role in structure.roles if role.name != "evaluator")


def member_count(structure: Structure) -> Node:
    """Return the number of pods of the gang."""
    return Sum(tuple(cluster_spec.replicas(role.name) for role in roles(structure)))


def may_be_partial(structure: Structure) -> bool:
    """Return True if the gang may start without all tasks.

    Only the strategy ParameterServer has programs that start with a part of the workers: programs of TensorFlow 1 with
    device filters.
    """
    return (
        structure.gang is not None
        and structure.strategy == "ParameterServer"
        and "minAvailable" in FIELDS[structure.gang]
    )


def min_members(structure: Structure) -> Node:
    """Return the number of pods that the scheduler must place before the gang starts."""
    return Default(MIN_AVAILABLE, member_count(structure)) if may_be_partial(structure) else member_count(structure)


def is_partial(structure: Structure) -> Expression:
    """Return a test that is true if `gang.minAvailable` lets the gang start without all tasks."""
    return AllOf((MIN_AVAILABLE, Greater(member_count(structure), MIN_AVAILABLE)))

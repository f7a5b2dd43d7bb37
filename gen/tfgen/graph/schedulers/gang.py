"""A gang scheduler, as data: the object that is a gang, if it has one, and how pods say that they belong to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tfgen.graph.holes import AllOf, Default, Expression, Greater, Key, Node, Sum, Text, When
from tfgen.graph.objects import cluster_spec, labels, names
from tfgen.graph.objects.values import ROLE, value
from tfgen.graph.template import Template
from tfgen.job.training_job import Role, RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.record import EMPTY, Record
from tfgen.schema.gang_fields import FIELDS

ENABLED: Final = value("gang.enabled")
QUEUE: Final = value("gang.queue")
MIN_AVAILABLE: Final = value("gang.minAvailable")
MIN_RESOURCES: Final = value("gang.minResources")
PRIORITY: Final = value("gang.priorityClassName")
REQUIRED_TOPOLOGY: Final = value("gang.requiredTopology")
_SCHEDULER_NAME: Final = value("gang.schedulerName")


class Binding(Record):
    """What makes a pod one of a gang.

    Attributes:
        labels: of its metadata.
        annotations: of its metadata.
        spec: fields of its spec.
    """

    labels: Mapping[Key, Node] = EMPTY
    annotations: Mapping[Key, Node] = EMPTY
    spec: Mapping[Key, Node] = EMPTY


class Gang(Record):
    """What one gang scheduler wants to see.

    Attributes:
        task: what makes a task of a role, by the role's name, one of the gang.
        group: the API group of its PodGroup, where it has one.
        version: and the version.
        spec: the PodGroup's spec.
        whole: the labels of the object that makes all pods of the gang, where the gang is such an object.
        outside: what a task outside the gang says: the evaluator.
        scheduler_name: what the pods say as ``schedulerName`` unless ``gang.schedulerName`` names another; none where
            it is the cluster's default scheduler.
    """

    task: Callable[[Node], Binding]
    group: str = ""
    version: Node = ""
    spec: Callable[[Structure], Mapping[Key, Node]] | None = None
    workload_labels: Mapping[Key, Node] = EMPTY
    evaluator: Binding = Binding()
    scheduler_name: str = ""

    def pod_group(self, structure: Structure) -> tuple[Template, ...]:
        """The PodGroup of one run, if the scheduler knows such."""
        if self.spec is None:
            return ()
        group: Node = {
            "apiVersion": Text((self.group, "/", self.version)),
            "kind": "PodGroup",
            "metadata": labels.metadata(names.RUN, annotations=keys.BEFORE_PODS),
            "spec": self.spec(structure),
        }
        return (Template("podgroup", When(ENABLED, group)),)

    def object_labels(self) -> Mapping[Key, Node]:
        """What the object says that makes all pods of the gang."""
        return _where_enabled(self.workload_labels)

    def pod(self, role: RoleName) -> Binding:
        """What the gang puts into a role's pods.

        The evaluator stands outside, but goes to the same scheduler: two must not share GPUs.
        """
        binding = self.evaluator if role == "evaluator" else self.task(ROLE)
        return Binding(
            _where_enabled(binding.labels),
            _where_enabled(binding.annotations),
            {"schedulerName": self._scheduler(), **_where_enabled(binding.spec)},
        )

    def _scheduler(self) -> Node:
        if self.scheduler_name:
            return When(ENABLED, Default(_SCHEDULER_NAME, self.scheduler_name))
        return When(AllOf((ENABLED, _SCHEDULER_NAME)), _SCHEDULER_NAME)


def _where_enabled(nodes: Mapping[Key, Node]) -> dict[Key, Node]:
    return {key: When(ENABLED, node) for key, node in nodes.items()}


def roles(structure: Structure) -> tuple[Role, ...]:
    """The roles that TensorFlow waits for at its start: all but the evaluator."""
    return tuple(role for role in structure.roles if role.name != "evaluator")


def member_count(structure: Structure) -> Node:
    """How many pods these have."""
    return Sum(tuple(cluster_spec.replicas(role.name) for role in roles(structure)))


def may_be_partial(structure: Structure) -> bool:
    """Whether the gang may start before all of its tasks can: not where all of them are equal."""
    return (
        structure.gang is not None
        and structure.strategy == "ParameterServer"
        and "minAvailable" in FIELDS[structure.gang]
    )


def min_members(structure: Structure) -> Node:
    """How many of them must find a place before any is started."""
    return Default(MIN_AVAILABLE, member_count(structure)) if may_be_partial(structure) else member_count(structure)


def is_partial(structure: Structure) -> Expression:
    """Whether the gang starts before all of its tasks can; of a gang that may be partial."""
    return AllOf((MIN_AVAILABLE, Greater(member_count(structure), MIN_AVAILABLE)))
